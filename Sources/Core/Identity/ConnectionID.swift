/// The name of one network connection of a server; never used again within one run.
public struct ConnectionID: NumberedID {
  /// Given by the server that accepted the connection; a younger connection has a greater number.
  public var number: UInt64

  /// The name that stands for a number.
  public init(_ number: UInt64) {
    self.number = number
  }
}
