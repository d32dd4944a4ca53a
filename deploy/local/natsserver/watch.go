package natsserver

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	watchEvery = time.Second
	// enoughRoom is the number of free bytes on the disk at which the server is restarted after a
	// failed write.
	enoughRoom = 4 << 20
)

// watch restarts the server after a failed write, as soon as there is space on the disk, and without
// its indexes if a file is damaged. The restart is necessary because a stream with a failed write
// refuses all further writes. Clients reconnect to the restarted server, because it keeps its port.
func (s *Server) watch() {
	defer close(s.done)
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	log := s.cfg.Logger
	for broken, damaged := false, false; ; {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
		}
		if !broken {
			problem := s.problem()
			if problem == "" {
				continue
			}
			broken = true
			if damaged = strings.Contains(problem, "malformed or corrupt"); damaged {
				log.Error("NATS: a file is damaged, dropping what stands behind the damage in this file", "dir", s.cfg.Dir, "error", problem)
			} else {
				log.Error("NATS: cannot write, waiting for room on the disk", "dir", s.cfg.Dir, "error", problem)
			}
		}
		if !s.hasRoom() {
			continue
		}
		if s.nats != nil {
			stop(s.nats)
		}
		if damaged {
			s.dropIndexes()
		}
		var err error
		if s.nats, err = run(s.cfg); err != nil {
			log.Error("NATS: cannot start again, retrying", "error", err)
			continue
		}
		broken = false
		log.Info("NATS: started again after a failed write")
	}
}

// dropIndexes removes the indexes of all streams, so that the next start reads the files of messages. A
// server that has stopped in good order trusts its index. It then finds a damaged message only when
// the message is replaced, and fails at each such write. A server without an index checks each
// message, and cuts a file where it is damaged.
func (s *Server) dropIndexes() {
	indexes, _ := filepath.Glob(filepath.Join(s.cfg.Dir, "jetstream", "*", "streams", "*", "msgs", "index.db")) // only a bad pattern is an error
	for _, name := range indexes {
		if err := os.Remove(name); err != nil {
			s.cfg.Logger.Error("NATS: cannot remove an index", "error", err)
		}
	}
}

// problem returns the error of a write that has failed since the server was started, or "".
func (s *Server) problem() string {
	if health := s.nats.Healthz(nil); strings.Contains(health.Error, "write error") {
		return health.Error
	}
	return ""
}

// hasRoom reports whether the disk has enough room for the server to write again.
func (s *Server) hasRoom() bool {
	name := filepath.Join(s.cfg.Dir, "room")
	f, err := os.Create(name)
	if err != nil {
		return false
	}
	_, err = f.Write(make([]byte, enoughRoom))
	if err == nil {
		err = f.Sync()
	}
	_ = f.Close()
	_ = os.Remove(name)
	return err == nil
}
