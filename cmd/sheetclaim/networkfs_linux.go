package main

import (
	"path/filepath"
	"syscall"
)

// networkFS names the network file system that holds a file, or the folder in which it
// is to be; "" for a local one. The numbers are those of statfs(2).
func networkFS(path string) string {
	var s syscall.Statfs_t
	if syscall.Statfs(path, &s) != nil && syscall.Statfs(filepath.Dir(path), &s) != nil {
		return ""
	}
	return map[uint32]string{
		0x6969: "NFS", 0x517b: "SMB", 0xff534d42: "CIFS", 0xfe534d42: "SMB", 0x5346414f: "AFS",
		0x01021997: "9P", 0x00c36400: "Ceph", 0x65735546: "FUSE", 0x0bd00bd0: "Lustre", 0x47504653: "GPFS",
	}[uint32(s.Type)]
}
