module mayfly/seccomp

go 1.24
