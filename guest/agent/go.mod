module mayfly/agent

go 1.24
