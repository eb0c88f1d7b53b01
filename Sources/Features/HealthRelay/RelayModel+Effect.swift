public import LinkCore
public import LinkHealth
public import LinkWire

extension RelayModel {
  /// Everything a relay can ask for; carried out in order.
  public enum Effect: Sendable, Equatable, Codable {
    /// Open the socket; the token, if there is one, tells the backend whose it is.
    case open(AttemptID, resume: Secret?)
    /// Close the socket with a code of RFC 6455 section 7.4, and say `.closed` when that is done.
    case close(AttemptID, code: UInt16)
    case ping(AttemptID, UInt64)
    /// Read what answers a question, and hold the answer until it is sent or discarded.
    case read(WorkID, RelayRequestID, HealthQuestion, inParts: Bool)
    /// Send one message of an answer, counted from 0.
    case send(AttemptID, WorkID, part: Int)
    /// Stop reading, and let go of the answer.
    case discard(WorkID)
    /// Hold a failure in place of an answer.
    case fail(WorkID, RelayRequestID, HealthQuestion.Kind, reason: String)
    /// Send a failure at once; to what kind of question, where that is known.
    case refuse(AttemptID, RelayRequestID?, HealthQuestion.Kind?, reason: String)
    /// Show this as the notification, or change the one that is shown.
    case notify(RelayStatus)
    /// Take the notification away.
    case unnotify
    case update(RelayUpdate)
  }
}
