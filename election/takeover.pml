/* A model of the takeover, for spin: `make model` checks it.
 *
 * Workers compete for the lease. The winner writes the next epoch, fences the
 * manifest, reads it, and continues from there with checkpoints.
 *
 * The model has no time. A lease may expire at any moment, a worker may claim the
 * lease of a leader that works, and a leader that has lost the lease continues until
 * storage refuses a write. A worker may be suspended anywhere, for any time, and keeps
 * its beliefs.
 *
 * A Worker of the model makes one claim. A process remembers nothing that matters from
 * one claim to the next, so a process that claims again, or is restarted after a crash,
 * is the next Worker. A crash is a suspension without an end.
 *
 * Properties:
 *
 *   (a) Epochs never go back, neither in the record nor in the manifest, and each is
 *       led at most once. So no write of a lower epoch takes effect after the fence of
 *       a higher one.
 *   (b) If a leader has acknowledged an item as durable, the item is in the manifest
 *       from which every later leader resumes, whether that leader read the manifest
 *       before the acknowledgement or after.
 *
 * Covered: claims that replace a lease ID, claims of a free and of an expired lease;
 * renewal, release, transfer; crash, suspension and restart anywhere; answers that are
 * lost after the effect, and the retries that follow; manifest writes that take effect
 * long after their sender has given up, or never.
 *
 * Omitted: time, and so the detection of a leader's death and trust in the lease: they
 * decide which worker tries and when, and here any worker may try at any time. Liveness.
 * Messages between leader and workers: every acknowledgement arrives, which is the worst
 * case. More than one job, since each has its own manifest. The contents of a manifest
 * besides the finished nodes; plans, partials in blobs and their removal, results, a
 * job's end. Reads that lag, and the deletion of the record or the manifest. Numbers
 * beyond the bounds below.
 *
 * The lease has two drivers. With KV it is kvlease: one key, changed by
 * compare-and-swap. Without KV it is bloblease: the blob's lease and the record in its
 * metadata, changed one after the other.
 *
 * Each of these macros adds a defect, and spin must then find an error:
 *
 *   NO_FENCE        a new leader only reads
 *   STALE_FENCE     a refused fence is retried with the manifest that was read before
 *   BLIND_MANIFEST  manifests are written without a condition
 *   OLD_EPOCH       a manifest of a higher epoch does not depose
 *   BLIND_TRUST     the leader mistakes a refused checkpoint for its own lost write
 *   REUSED_NUMBER   the leader gives up a checkpoint with an unknown outcome, and gives
 *                   the next one the same sequence number
 *   EARLY_ACK       acknowledged before storage has
 *   SAME_EPOCH      a new leader takes the epoch that it finds
 *   FORGOTTEN       release deletes the record
 *   BLIND_RECORD    the record is written without a condition (KV: a blob's is
 *                   guarded by the lease as well)
 */

/* Bounds. */
#ifndef WORKERS
#define WORKERS   2     /* claims */
#endif
#ifndef ITEMS
#define ITEMS     2     /* number of nodes that a job finishes, 1 to 3 */
#endif
#ifndef LOSSES
#define LOSSES    1     /* answers lost after the effect */
#endif
#ifndef LATE
#define LATE      1     /* manifest writes that take effect late, or never */
#endif
#ifndef TRANSFERS
#define TRANSFERS 1
#endif
#ifndef RENEWALS
#define RENEWALS  1     /* with KV, where each is a new revision */
#endif

#define NONE   0
#define ALL    ((1 << ITEMS) - 1)
#define EPOCHS (WORKERS + LOSSES)       /* a claim that is tried again may write two */

mtype = { OK, CONFLICT, UNKNOWN };

/* ---- Storage: the lease, the record, one job's manifest. ---- */

byte leaseID;           /* without KV: that of the blob's lease, also once it has expired */
bool leased;

typedef Record {
  byte epoch;
  byte id;
  bool held;            /* with KV */
  byte revision         /* the ETag, or the key's revision */
};
Record record;

typedef Manifest {
  byte epoch;
  byte sequence;
  byte items;           /* as bits: the finished nodes */
  byte version          /* 0: there is no manifest */
};
Manifest manifest;

/* A manifest write in flight whose sender has given up. */
bool underWay;
Manifest stray;         /* its version is the one that it replaces */

/* ---- Chance, in bounds. ---- */

byte losses, strays, renewals, transfers;
byte begun;             /* workers claim in order, as they are all alike */

/* ---- State that only the properties use. ---- */

byte highest;           /* epoch in the record, ever */
byte led;               /* epochs that were led, as bits */
byte acked[EPOCHS + 1]; /* by epoch: items that its leader has acknowledged */
byte resumed;           /* epochs whose leaders have resumed, as bits */
byte base[EPOCHS + 1];  /* by epoch: what its leader resumed from */

#define writeRecord(e, lease) \
  assert(e >= highest);                                                   /* (a) */ \
  highest = e; record.epoch = e; record.id = lease; record.held = true; record.revision++

#define writeManifest(from) \
  assert(from.epoch >= manifest.epoch);                                   /* (a) */ \
  manifest.epoch = from.epoch; manifest.sequence = from.sequence; manifest.items = from.items; \
  manifest.version++

inline beginTerm() {
  assert(!(led & (1 << epoch)));                                          /* (a) */
  led = led | (1 << epoch)
}

inline resumeTerm() {
  atomic {
    i = 0;
    do
    :: i < epoch -> assert((acked[i] & ~known.items) == 0); i++           /* (b) */
    :: else -> break
    od;
    i = 0;
    base[epoch] = known.items;
    resumed = resumed | (1 << epoch)
  }
}

inline acknowledge(what) {
  atomic {
    acked[epoch] = acked[epoch] | what;
    i = epoch + 1;
    do
    :: i <= EPOCHS ->
       assert(!(resumed & (1 << i)) || (what & ~base[i]) == 0);           /* (b) */
       i++
    :: else -> break
    od;
    i = 0
  }
}

/* A lost answer is UNKNOWN to the caller although the call took effect. */
inline answerOf(effect) {
  if
  :: answer = effect
  :: losses < LOSSES -> losses++; answer = UNKNOWN
  fi
}

#ifdef BLIND_MANIFEST
#define MATCHES       true
#define STRAY_MATCHES true
#else
#define MATCHES       (known.version == manifest.version)
#define STRAY_MATCHES (stray.version == manifest.version)
#endif

/* put replaces known by next in storage, and in known if that succeeded. */
inline put() {
  atomic {
    if
    :: MATCHES -> writeManifest(next); answerOf(OK)
    :: !(MATCHES) -> answer = CONFLICT
    :: strays < LATE && !underWay ->
       strays++; underWay = true;
       stray.epoch = next.epoch; stray.sequence = next.sequence; stray.items = next.items;
       stray.version = known.version;
       answer = UNKNOWN
    fi;
    if
    :: answer == OK -> keepNext()
    :: else -> skip
    fi
  }
}

inline keepNext() {
  known.epoch = next.epoch; known.sequence = next.sequence; known.items = next.items;
  known.version = manifest.version;
  forgetNext()
}

inline forgetNext() { next.epoch = 0; next.sequence = 0; next.items = 0 }

inline readManifest() {
  d_step {
    known.epoch = manifest.epoch; known.sequence = manifest.sequence; known.items = manifest.items;
    known.version = manifest.version
  }
}

inline readRecord() {
  d_step { seen.epoch = record.epoch; seen.id = record.id; seen.held = record.held; seen.revision = record.revision }
}

#ifdef BLIND_RECORD
#define RECORD_MATCHES true
#else
#define RECORD_MATCHES (seen.revision == record.revision)
#endif

/* The lease is this leader's. */
#ifdef KV
#define HELD (record.held && record.epoch == epoch && record.id == id)
#else
#define HELD (leased && leaseID == id)
#endif

#ifdef SAME_EPOCH
#define NEXT_EPOCH (seen.epoch == 0 -> 1 : seen.epoch)
#else
#define NEXT_EPOCH (seen.epoch + 1)
#endif

proctype Worker(byte self) {
  byte id, over;        /* the claim */
  Record seen;          /* the record as it was read */
  bool mine;            /* the blob's lease was given to this claim */
  byte epoch;
  Manifest known, next; /* as it was read or written last; as it is to be written */
  byte i;
  mtype answer;

  /* ---- Follow. A worker that believes, rightly or wrongly, that there is no leader claims. ---- */
end_following:
  atomic {
    begun == self - 1;
    begun = self; id = self;
    if
    :: over = record.id         /* that of the leader believed dead, or of an offer */
    :: over = NONE              /* only where it is free or has expired */
    fi
  };

  /* ---- Claim: Lease.Acquire. ---- */
claim:
#ifdef KV
  atomic {
    readRecord();
    if
    :: seen.held && seen.id == id -> epoch = seen.epoch         /* an earlier try did succeed */
    :: !(seen.held && seen.id == id) -> epoch = NEXT_EPOCH      /* free, over its ID, or expired */
    :: seen.held && seen.id != id && seen.id != over -> goto gone /* held */
    fi
  };
  atomic {
    if
    :: RECORD_MATCHES -> writeRecord(epoch, id); answerOf(OK)
    :: !(RECORD_MATCHES) -> answer = CONFLICT
    fi;
    goto answered
  };
#else
  atomic { /* Change Lease */
    if
    :: over == NONE || mine || !leased -> goto take
    :: over != NONE && !mine && leased && leaseID == over ->
       leaseID = id; mine = true; answerOf(OK);
       if
       :: answer == OK -> goto take
       :: else -> goto answered
       fi
    :: over != NONE && !mine && leased && leaseID != over -> goto gone /* another was faster */
    :: over != NONE && !mine && leased && leaseID != over -> goto take /* see whether it is free */
    fi
  };
take:
  atomic { /* Acquire Lease */
    if
    :: !leased || leaseID == id -> leased = true; leaseID = id; mine = true; answerOf(OK)
    :: leased && leaseID != id -> goto gone
    fi;
    if
    :: answer == OK -> skip
    :: else -> goto answered
    fi
  };
enter:
  atomic { /* write the record, under the lease ID and If-Match */
    readRecord();
    if
    :: seen.id == id -> epoch = seen.epoch; goto answered       /* an earlier try wrote it */
    :: else -> epoch = NEXT_EPOCH
    fi
  };
  atomic {
    if
    :: !(leased && leaseID == id) -> goto gone                  /* taken over meanwhile */
    :: leased && leaseID == id && !(RECORD_MATCHES) -> goto enter
    :: leased && leaseID == id && RECORD_MATCHES -> writeRecord(epoch, id); answerOf(OK)
    fi;
    goto answered
  };
#endif
answered:
  atomic {
    if
    :: answer == OK -> skip
    :: answer != OK -> epoch = 0; goto claim    /* the same claim again */
    :: answer == UNKNOWN -> goto gone           /* or the worker gives up the claim */
    fi;
    answer = 0; over = NONE; mine = false;
    seen.epoch = 0; seen.id = NONE; seen.held = false; seen.revision = 0;
    beginTerm()
  };

  /* ---- Fence, then read: load, fence and begin of package term. ---- */
read:
  atomic {
    readManifest();
    if
#ifndef OLD_EPOCH
    :: known.epoch > epoch -> goto gone         /* deposed */
#endif
    :: known.epoch == epoch -> goto resume      /* the fence stands; its answer was lost */
#ifdef NO_FENCE
    :: known.version != 0 && known.epoch < epoch -> goto resume
#endif
    :: else -> skip
    fi;
    next.epoch = epoch; next.sequence = known.sequence + 1; next.items = known.items
  };
fence:
  atomic {
    put();
    if
    :: answer == OK -> skip
    :: answer == UNKNOWN -> goto fence
#ifdef STALE_FENCE
    :: answer == CONFLICT -> known.version = manifest.version; goto fence
#else
    :: answer == CONFLICT -> forgetNext(); goto read
#endif
    fi
  };
resume:
  resumeTerm();

  /* ---- Lead. ---- */
lead:
  atomic {
    answer = 0;
    if
    :: known.items != ALL ->                    /* workers report: checkpoint, as Term.writeManifest does */
       next.epoch = epoch; next.sequence = known.sequence + 1;
       if
       :: !(known.items & 1) -> next.items = known.items | 1
#if ITEMS > 1
       :: !(known.items & 2) -> next.items = known.items | 2
#endif
#if ITEMS > 2
       :: !(known.items & 4) -> next.items = known.items | 4
#endif
       fi
    :: goto stop
    :: goto renew
    fi
  };
#ifdef EARLY_ACK
  acknowledge(next.items);
#endif
write:
  atomic {
    put();
    if
    :: answer == OK -> skip
#ifdef REUSED_NUMBER
    :: answer == UNKNOWN -> forgetNext(); goto lead
#endif
    :: answer == UNKNOWN -> goto write
    :: answer == CONFLICT -> goto compare
    fi
  };
durable:
#ifndef EARLY_ACK
  acknowledge(known.items);
#endif
  goto lead;
compare:
  atomic {
#ifndef BLIND_TRUST
    if
    :: manifest.epoch == next.epoch && manifest.sequence == next.sequence -> skip
#ifndef OLD_EPOCH
    :: manifest.epoch > next.epoch -> goto gone /* deposed */
    :: else -> assert(false)                    /* nobody else can have written */
#else
    :: else -> goto gone
#endif
    fi;
#endif
    keepNext();                                 /* the write's answer was lost */
    goto durable
  };

renew:
  atomic {
    if
#ifdef KV
    :: HELD && renewals < RENEWALS -> renewals++; record.revision++; goto lead
    :: !HELD -> goto gone                       /* lost */
    :: HELD && renewals == RENEWALS -> goto stop
#else
    :: leaseID == id -> leased = true; goto lead
    :: leaseID != id -> goto gone
#endif
    fi
  };

  /* ---- Hand over: the leading function has returned. ---- */
stop:
  atomic {
    if
    :: !HELD || transfers == TRANSFERS -> goto release
    :: HELD && transfers < TRANSFERS -> transfers++; over = id; id = WORKERS + self; writeRecord(epoch, id)
    :: goto release
    fi
  };
#ifndef KV
  atomic {
    if
    :: leased && leaseID == over -> leaseID = id
    :: !(leased && leaseID == over) -> goto gone
    fi
  };
#endif
release: /* also after a handover that failed */
  atomic {
    if
    :: HELD ->
#ifdef FORGOTTEN
       record.epoch = 0; record.id = NONE;
#endif
#ifdef KV
       record.held = false; record.revision++
#else
       leased = false; leaseID = NONE
#endif
    :: true -> skip
    fi
  };
gone:
  atomic {
    id = NONE; over = NONE; epoch = 0; mine = false; answer = 0;
    seen.epoch = 0; seen.id = NONE; seen.held = false; seen.revision = 0;
    known.epoch = 0; known.sequence = 0; known.items = 0; known.version = 0;
    forgetNext()
  }
}

/* Fate expires the lease at any moment, and lets a stray write arrive or vanish. */
proctype Fate() {
end_fate:
  do
#ifndef KV
  :: leased -> leased = false
#endif
  :: atomic { underWay ->
       if
       :: STRAY_MATCHES -> writeManifest(stray)
       :: true
       fi;
       underWay = false;
       stray.epoch = 0; stray.sequence = 0; stray.items = 0; stray.version = 0
     }
  od
}

init {
  byte i;
  atomic {
    i = 1;
    do
    :: i <= WORKERS -> run Worker(i); i++
    :: else -> break
    od;
    i = 0;
    run Fate()
  }
}
