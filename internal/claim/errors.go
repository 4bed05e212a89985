package claim

import "errors"

// ErrNoRun says that no run of that name is remembered.
var ErrNoRun = errors.New("no such run is remembered")
