public import HoldfastCore
public import HoldfastHealth
public import HoldfastHealthRelay
import HoldfastLinkChecks
public import HoldfastRelayChecks
public import HoldfastRelayData
public import HoldfastRelayServer
public import HoldfastServerParts
import HoldfastWorldKernel

// The traffic between the hosts of the world.
extension RelayFeature {
  /// The content of a phone's upgrade request.
  public struct Hello: Sendable {
    var resume: String?
  }

  /// A message on a line.
  public enum Packet: Sendable {
    case opened
    /// A message from the backend, as decoded by a phone's effect handler.
    case down(RelayModel.Message, phone: Int)
    case up(PhoneMessage)
  }

  /// A request from an assistant, or from a phone without a socket.
  public enum Question: Sendable {
    /// A call from an assistant.
    case ask(RequestID, RelayCall, token: String?)
    /// A request from a phone without a socket, and the step that waits for the response, if any.
    case pull(RelayPull, resume: String?, pull: Int, StepID?)
  }

  /// The backend's response to a request.
  public enum Reply: Sendable {
    case outcome(RelayOutcome)
    case pulled(RelayReply)
    /// A response that consists only of an HTTP status.
    case status(Int)
  }

  /// A scheduled event of the world.
  public enum ScheduledEvent: Sendable {
    // Phones.
    case input(RelayModel.Input)
    case read(WorkID, RelayRequestID, HealthQuestion, inParts: Bool)
    case pullRead(pull: Int, StepID, LeasedQuestion)
    /// A push arrives at a phone.
    case wakes(phone: Int)
    /// A user checks whether the relay runs.
    case looksAtPhone
    // Assistants.
    case signsIn
    case abandons(RequestID)
    // The backend.
    case tokenDrawn(RelayServer.DrawnToken)
    case pushed(PhoneID, to: PushAddress, PushOutcome)
    case changes(StoreToken, [RelayChange])
    case stored(StoreToken, StoreFailure?)
    /// The world checks the parts of its state that no event reveals.
    case looks
  }
}

extension TokenHash {
  /// Returns the hash of a secret: the text itself, padded or truncated to 32 bytes.
  static func of(_ secret: String) -> TokenHash {
    let bytes = Array((Array(secret.utf8) + [UInt8](repeating: 0, count: 32)).prefix(32))
    guard let hash = TokenHash(bytes) else { preconditionFailure("it has 32 bytes") }
    return hash
  }
}

extension HealthObject {
  /// Returns a phone's answer to a question. It contains both numbers and has about `bytes` bytes.
  static func answer(of phone: Int, to number: Int, bytes: Int) -> HealthObject {
    let begin =
      #"{"success":true,"health_data":[],"phone":\#(phone),"question":\#(number),"rest":""#
    let rest = [UInt8](repeating: UInt8(ascii: "0"), count: max(0, bytes))
    return HealthObject(succeeded: true, bytes: Array(begin.utf8) + rest + Array("\"}".utf8))
  }
}
