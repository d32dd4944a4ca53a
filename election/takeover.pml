/* A model of the takeover, for spin: `make model` checks it.
 *
 * Workers race for the lease; who gets it writes the next epoch, fences the
 * manifest, reads it, and goes on from there with checkpoints.
 *
 * Nothing here knows the time. A lease may expire at any moment, a worker may claim
 * the lease of a leader that is well, and a leader that has lost the lease goes on
 * until storage refuses something. Every worker may stand still anywhere, for any
 * time, and go on believing what it believed.
 *
 * A Worker of the model makes one claim. Nothing that matters is remembered from one
 * claim to the next, so a process that claims again, or crashes and is started
 * again, is the next Worker; and a crash is to stand still for ever.
 *
 * What must hold:
 *
 *   (a) Epochs never go back, neither in the record nor in the manifest, and each is
 *       led at most once. So no write of a lower epoch lands after a higher one's
 *       fence.
 *   (b) What a leader has acknowledged as durable is in the manifest that every later
 *       leader resumes from, whether that one read it before the acknowledgement or
 *       after.
 *
 * Covered: claims over a lease ID, of a free and of an expired lease; renewal,
 * release, transfer; crash, stall and restart anywhere; answers lost after the
 * effect, and the tries that follow; manifest writes that take effect long after
 * their sender has given them up, or never.
 *
 * Left out: time, and so all that notices a leader's death, and trust in the lease
 * (they decide who tries and when; here anyone may at any time). Whether anything
 * gets done at all. Messages between leader and workers: an acknowledgement is taken
 * to arrive, which is the worst case. Several jobs, each of which has a manifest of
 * its own. What a manifest says besides the finished nodes; plans, partials in blobs
 * and their removal, results, a job's end. Reads that lag, and anyone who deletes the
 * record or the manifest. Numbers beyond the bounds below.
 *
 * The lease has two drivers. With KV it is kvlease: one key, changed by
 * compare-and-swap. Without, it is bloblease: the blob's lease and the record in its
 * metadata are two things, changed one after the other.
 *
 * A defect is switched on by its name, and spin must then find an error:
 *
 *   NO_FENCE        a new leader only reads
 *   STALE_FENCE     a fence that was refused is tried again with what was read before
 *   BLIND_MANIFEST  manifests are written without a condition
 *   OLD_EPOCH       a manifest of a higher epoch does not depose
 *   BLIND_TRUST     a refused checkpoint is taken for one's own whose answer was lost
 *   REUSED_NUMBER   a checkpoint whose outcome is unknown is given up, and the next
 *                   one has the same sequence number
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
#define ITEMS     2     /* finished nodes that a job comes to have, 1 to 3 */
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

/* A manifest write on its way that nobody waits for. */
bool underWay;
Manifest stray;         /* its version is the one that it replaces */

/* ---- Chance, in bounds. ---- */

byte losses, strays, renewals, transfers;
byte begun;             /* workers claim in order, as they are all alike */

/* ---- What the properties need to know, and no worker does. ---- */

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

/* An answer that was lost leaves its asker with UNKNOWN, though there was an effect. */
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

/* put writes next in place of known, and keeps it as known where that succeeded. */
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

  /* ---- Follow. Whoever believes that nobody leads, rightly or not, claims. ---- */
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
    :: answer == UNKNOWN -> goto gone           /* or nothing speaks for it any more */
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

  /* ---- Pass on: the leading function has returned. ---- */
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
release: /* which a handover comes to if nobody took it up */
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
