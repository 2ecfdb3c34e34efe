module mayfly/net

go 1.24

require mayfly/seccomp v0.0.0

replace mayfly/seccomp => ../seccomp
