// Package output writes the output of a job. An output consists of objects in one folder and a
// manifest that lists the valid objects.
//
//	attempts        Write ─▶ FOLDER/part-ID-00000000-000000-a81…csv
//	                Write ─▶ FOLDER/part-ID-00000001-000000-77c…csv   (lost: its worker died)
//	                Write ─▶ FOLDER/part-ID-00000001-000000-e02…csv
//	                             │ Part: name, rows, bytes, SHA-256
//	                             ▼ through the partials of the job
//	end of the job  Write  ─▶ FOLDER/part-ID-00000000-end000000-5c3…csv  (rows between the partitions 0 and 1)
//	                Commit ─▶ FOLDER/.manifest.json, then removes the objects that it does not list
//
// An attempt of a partition writes its objects under names that no other attempt uses. An attempt
// therefore never changes the objects of another attempt, and the partial of the partition lists
// the objects of exactly one attempt. A reader that reads the objects of the manifest sees each row
// exactly once. The objects in the manifest, and their names, have the order of the input. Records
// at the borders of partitions are joined later, so the end of the job writes their rows to
// separate objects.
//
// An output of the format [Files] has files in place of rows: an attempt writes each with WriteFile, and the
// manifest has the path and the item of each.
//
// The manifest is created only if the folder has no manifest yet. If the end of a job is computed
// twice, the second Commit finds the manifest of the first Commit, which lists the same rows.
//
// A job that has skipped partitions commits an output without their rows or files. A job that retries it has the same plan,
// and so the same ID of the output. If the output is of files, its Commit adds the files of further partitions to the manifest.
// Until then readers read the earlier one. Since the objects belong to the folder, the removal of the
// earlier job leaves them. Several jobs may retry the same one, and no Commit removes what another one lists: see extend.go.
//
// # What can fail
//
//   - The folder has the manifest of an earlier job: [Check] and [Folder.Commit] fail.
//   - A lost attempt writes an object after the commit: RemoveLate finds the manifest and removes
//     the object. If the process dies before RemoveLate, the object remains in the folder, but the
//     manifest does not list the object.
//   - A job fails or is cancelled: the folder has no manifest. Each worker that has worked on the
//     job calls [Folder.Abandon] after the last of the worker's attempts has ended. Abandon removes
//     the objects of all workers. Objects remain if all workers that have worked on the job are
//     dead, or if a worker writes an object after the last call of Abandon and dies before it
//     removes the object. The remaining objects are named part-ID-*, and no manifest contains
//     their ID.
//   - A job that retries one with skipped partitions fails or is cancelled: the manifest of the earlier job stays, and with it
//     the objects of both. The Commit of a later retry that has files of the same partitions removes them.
//   - An attempt is lost, and the manifest lists no files of its partition, because the partition was skipped or another attempt
//     has written no file: its objects stay. No manifest lists them.
//   - A process dies while it writes a file: a file .NAME.new-* remains until the end of the job.
//     Readers do not list this file.
//   - The manifest is damaged, or lists an object twice: [Read] fails.
//   - Storage is busy: Write retries under another name.
package output
