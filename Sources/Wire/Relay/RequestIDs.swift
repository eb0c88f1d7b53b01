import LinkHealth
import LinkJSON

extension JSONFields {
  /// The id of a request, under any of the names that were ever used for it.
  func requestID() throws(FieldFault) -> RelayRequestID? {
    for name in Self.idNames {
      guard let text = try optionalString(name), !text.isEmpty else { continue }
      guard let id = RelayRequestID(text) else { throw .outOfBounds(field: name) }
      return id
    }
    return nil
  }

  /// In the order in which they count.
  static let idNames = ["request_id", "requestId", "id"]
}

extension RelayWireError {
  /// Runs `body`, and says of its fault which request and which kind it belongs to.
  static func about<Value>(
    _ id: RelayRequestID?, _ kind: HealthQuestion.Kind? = nil,
    _ body: () throws(FieldFault) -> Value
  ) throws(RelayWireError) -> Value {
    do throws(FieldFault) {
      return try body()
    } catch {
      throw RelayWireError(error, id: id, kind: kind)
    }
  }
}
