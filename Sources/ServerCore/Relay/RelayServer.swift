import LinkCore

/// The relay between assistants and phones as a value.
public struct RelayServer: Sendable {}
