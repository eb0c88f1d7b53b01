public import HoldfastHealth
public import HoldfastRelayData
import HoldfastServerParts

/// A call of an assistant.
public enum RelayCall: Sendable, Hashable, Codable {
  /// A request to pair with the phone that shows this word and code. The phone's user sees the name
  /// of the assistant.
  case login(word: String, code: String, assistant: AssistantName? = nil)
  /// A request to pair on a sign-in page (OAuth). The access ends soon unless it is renewed.
  case grant(word: String, code: String, assistant: AssistantName? = nil)
  /// A request to renew the access of the bearer, which is the holder of a grant.
  ///
  /// A generation below the current one means that an old token was used again. The access then
  /// ends (OAuth 2.1 section 4.3.1).
  case renew(generation: UInt64)
  /// A question to the phone that the bearer token belongs to.
  case question(HealthQuestion)
  /// A request to revoke the bearer token.
  case logout
}

extension RelayCall: CustomStringConvertible {
  /// A description that contains neither the pairing code nor the content of the question.
  public var description: String {
    switch self {
    case .login: "a login"
    case .grant: "a sign-in"
    case .renew: "a renewal"
    case .question(let question): "a question for \(question.kind.rawValue)"
    case .logout: "a logout"
    }
  }
}

/// The outcome of a call, sent exactly once unless the caller has disconnected.
public enum RelayOutcome: Sendable, Hashable, Codable {
  /// The assistant is paired.
  case loggedIn(RelayGrant)
  /// The access is renewed, and has this generation now.
  case renewed(generation: UInt64)
  /// The token is no longer valid.
  case loggedOut
  /// The phone's unmodified answer. It may be an error that the phone reports.
  case data(HealthObject)
  /// The call was refused.
  case refused(RelayRefusal)
}

/// A bearer token for one phone (RFC 6750).
public struct RelayGrant: Sendable, Hashable, Codable, CustomStringConvertible {
  /// The token. It is a secret that is sent only here. The backend stores its hash.
  public var accessToken: String
  /// The time until the token expires.
  public var expiresIn: Duration
  /// The id of the user. It is the same for all assistants of one phone.
  public var user: String

  /// Creates a grant from its parts.
  public init(accessToken: String, expiresIn: Duration, user: String) {
    self.accessToken = accessToken
    self.expiresIn = expiresIn
    self.user = user
  }

  /// A description without the secret.
  public var description: String { "access for \(user)" }
}

/// The reason why a call was refused.
///
/// The description explains the reason and the remedy to people.
public enum RelayRefusal: Error, Sendable, Hashable, Codable {
  /// No phone shows this word and code now.
  case wrongPair
  /// This address sent too many wrong pairing codes, or all addresses together did.
  case lockedOut(retryAfter: Duration)
  /// The bearer token is missing, was never issued, or was logged out.
  case notSignedIn
  /// The bearer token has expired.
  case tokenExpired
  /// The bearer token was revoked before its expiry.
  case signedOut(SignOut)
  /// The phone is not connected.
  case phoneAway(since: Duration, Away)
  /// The same device connected again without its resume token.
  case phoneReplaced
  /// The phone received the question but did not answer in time.
  case timedOut(after: Duration)
  /// The assistant cancelled its question.
  case cancelled
  /// The phone or the backend has reached its maximum number of questions.
  case tooManyWaiting(retryAfter: Duration)
  /// The phone's answer is invalid.
  case malformed(reason: String)
  /// The answer exceeds the backend's limit.
  case answerTooLarge(limit: Int)
  /// The backend cannot store data that the call requires.
  case storeFailed(retryAfter: Duration)
  /// The backend is stopping.
  case stopping(retryAfter: Duration)

  /// The reason why a bearer token was revoked before its expiry.
  public enum SignOut: Sendable, Hashable, Codable {
    /// Another assistant was paired with the phone, and the phone had reached its limit of
    /// assistants.
    case byAnother(limit: Int)
    /// The phone's user revoked the token.
    case byUser
  }

  /// The prospects of a phone that is away.
  public enum Away: String, Sendable, Hashable, Codable, CaseIterable {
    /// The phone may return by itself and is still paired.
    case mayReturn
    /// A push was sent to wake the phone, but it did not connect.
    case wasWoken
    /// The pairing is over, so the phone must be paired again.
    case pairAgain
  }
}

extension RelayRefusal: CustomStringConvertible {
  /// The reason and the remedy, in one or two human-readable sentences.
  public var description: String {
    switch self {
    case .wrongPair:
      "No phone shows this word and code now. Look at the phone and give both as it shows them; "
        + "a pair works once and for ten minutes."
    case .lockedOut(let wait):
      "Too many wrong pairs were given. Try again in \(Self.text(wait)) with the word and code "
        + "that the phone shows then."
    case .notSignedIn:
      "Not signed in. Ask the user for the word and code on the phone and log in with them."
    case .tokenExpired:
      "The sign-in has expired. Ask the user for the word and code on the phone and log in again."
    case .signedOut(.byAnother(let limit)):
      "Another assistant was paired with this phone. A phone has at most \(limit) assistants, and "
        + "this one, which was paired first, was signed out. Ask the user for the word and code "
        + "on the phone and log in again."
    case .signedOut(.byUser):
      "The user has ended this sign-in on the phone. Ask the user before you log in again."
    case .phoneAway(let since, let away): Self.text(away, since: since)
    case .phoneReplaced:
      "The phone was connected anew, which ended this pairing. Ask the user for the word and code "
        + "that it shows now and log in again."
    case .timedOut(let time):
      "The phone was asked and did not answer within \(Self.text(time)). Make sure that the app is "
        + "open and the phone unlocked, then ask again."
    case .cancelled: "The question was cancelled."
    case .tooManyWaiting(let wait):
      "Too many questions wait already. Ask again in \(Self.text(wait))."
    case .malformed(let reason): "The phone's answer cannot be read: \(reason). Ask again."
    case .answerTooLarge(let limit):
      "The answer is longer than \(limit) bytes. Ask for a shorter time, or group it."
    case .storeFailed(let wait):
      "The backend cannot store what it must keep. Try again in \(Self.text(wait)); "
        + "to log in, with the word and code that the phone shows then."
    case .stopping(let wait):
      "The backend is about to restart. Try again in \(Self.text(wait))."
    }
  }

  private static func text(_ away: Away, since: Duration) -> String {
    let since = "The phone is not connected (since \(text(since)))"
    return switch away {
    case .mayReturn: "\(since). Ask the user to open the app, then ask again."
    case .wasWoken:
      "\(since) and did not wake when it was called. Ask the user to open the app, then ask again."
    case .pairAgain:
      "\(since), and its pairing is over. Ask the user to open the app, connect, and give the word "
        + "and code that it shows; then log in again."
    }
  }

  /// Returns a time as text: in whole minutes from two minutes on, and in seconds below.
  private static func text(_ time: Duration) -> String {
    let whole = time.retrySeconds
    return whole < 120 ? "\(whole) s" : "\(whole / 60) min"
  }
}
