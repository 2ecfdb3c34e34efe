module mayfly/ram

go 1.24
