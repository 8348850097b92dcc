module fabemu

go 1.26
