public import LinkHealth
public import LinkJSON

/// Why bytes of the relay are no message, with what of them is still needed to say so.
public struct RelayWireError: Error, Sendable, Hashable, Codable, CustomStringConvertible {
  /// The request that it belongs to, wherever it could be read.
  public var id: RelayRequestID?
  /// The kind of question it was meant to be, wherever that could be read.
  public var kind: HealthQuestion.Kind?
  /// What is wrong.
  public var fault: FieldFault

  /// An error; nothing of the message could be read by default.
  public init(_ fault: FieldFault, id: RelayRequestID? = nil, kind: HealthQuestion.Kind? = nil) {
    self.id = id
    self.kind = kind
    self.fault = fault
  }

  /// The error in a few words for people.
  public var description: String { fault.description }
}
