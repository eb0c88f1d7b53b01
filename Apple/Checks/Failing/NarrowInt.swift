// fails on watchos-device: integer literal '5000000000' overflows when stored into 'Int'
let bytes = 5_000_000_000
