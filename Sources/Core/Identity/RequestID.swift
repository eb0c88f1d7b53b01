/// The name of one HTTP request from its arrival to its answer; never used again within one run.
public struct RequestID: NumberedID {
  /// Given by the server that read the request; a younger request has a greater number.
  public var number: UInt64

  /// The name that stands for a number.
  public init(_ number: UInt64) {
    self.number = number
  }
}
