// Package output writes the output of a job: the objects of one folder, and a manifest that lists
// the objects that count.
//
//	attempts        Write ─▶ FOLDER/part-RUN-00000000-000000-a81…csv
//	                Write ─▶ FOLDER/part-RUN-00000001-000000-77c…csv   (lost: its worker died)
//	                Write ─▶ FOLDER/part-RUN-00000001-000000-e02…csv
//	                             │ Part: name, rows, bytes, SHA-256
//	                             ▼ through the partials of the job
//	end of the job  Write  ─▶ FOLDER/part-RUN-00000000-end000000-5c3…csv  (rows between the partitions 0 and 1)
//	                Commit ─▶ FOLDER/.manifest.json, then removes the objects that it does not list
//
// An attempt of a partition writes its objects under names that no other attempt uses. So an
// attempt never changes what another one wrote, and the partial of the partition contains the
// objects of exactly one attempt. A reader that reads the objects of the manifest sees each row
// exactly once. The order of the objects in the manifest, and of their names, is that of the input. The
// records at the borders of partitions are joined later, so their rows are in objects of their own,
// which the end of the job writes.
//
// The manifest is created only if the folder has no manifest yet. If the end of a job is computed twice, the second
// Commit finds the manifest of the first, which lists the same rows.
//
// # What can fail
//
//   - The folder has the manifest of an earlier job: [Check] and [Folder.Commit] fail.
//   - An object that a lost attempt writes after the manifest is there: RemoveLate finds the
//     manifest and removes the object. If the process dies between these steps, the object stays. It
//     is not in the manifest.
//   - A job fails or is cancelled: the folder has no manifest. Each worker that has worked on the job
//     calls [Folder.Abandon], which removes the objects of all workers, after the last of its own
//     attempts has ended. Objects stay if no worker that has worked on the job is alive, or if an
//     attempt writes an object after that and its worker dies before it removes the object. These
//     objects are named part-RUN-*, and no manifest names their RUN.
//   - A process dies while it writes a file: a file .new-* stays, which no reader lists.
//   - Storage is busy: Write retries under another name.
package output
