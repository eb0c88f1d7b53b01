public import LinkHealth

/// The former name of `HealthQuestion`.
public typealias RelayQuestion = HealthQuestion
