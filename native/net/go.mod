module mayfly/net

go 1.24
