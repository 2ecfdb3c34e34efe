module mayfly/jail

go 1.24
