extension ConnectionID {
  /// The name as one number, for logs and for rules that know no sockets; orders the same way.
  public var number: UInt64 { token }

  /// The name that `number` stood for.
  public init(number: UInt64) {
    self.init(
      serial: UInt32(truncatingIfNeeded: number >> 32),
      slot: UInt32(truncatingIfNeeded: number))
  }
}
