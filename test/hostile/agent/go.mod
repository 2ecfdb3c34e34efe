module mayfly/agent/hostile

go 1.24

require mayfly/agent v0.0.0

replace mayfly/agent => ../../../guest/agent
