public import LinkHealth

/// What a phone says to the backend.
public enum PhoneMessage: Sendable, Hashable, Codable {
  /// The answer to a question for samples.
  case healthData(RelayRequestID, HealthObject)
  /// The answer to a question for a summary.
  case summary(RelayRequestID, HealthObject)
  /// A piece of an answer that is too long for one frame; ours.
  case part(RelayRequestID, HealthPart)
  /// Something could not be understood or done; without an id only if none could be read.
  case failure(RelayRequestID?, reason: String)
  /// A message of a `type` that this version does not know.
  case unknown(type: String, id: RelayRequestID?)
}

/// One of the pieces of a health object, cut between any two of its characters.
public struct HealthPart: Sendable, Hashable, Codable {
  /// The kind of answer that the pieces make.
  public var kind: HealthQuestion.Kind
  /// Counts from 0.
  public var index: Int
  /// How many pieces there are; at least 1.
  public var count: Int
  /// The piece; all of them in a row are the JSON object.
  public var text: String

  /// A piece; nothing is checked.
  public init(kind: HealthQuestion.Kind, index: Int, count: Int, text: String) {
    self.kind = kind
    self.index = index
    self.count = count
    self.text = text
  }
}
