public import LinkHealth
public import LinkWire

/// What an assistant wants of the relay.
public enum RelayCall: Sendable, Hashable, Codable {
  /// Pair with the phone that shows this word and code; the name is for the phone's user.
  case login(word: String, code: String, assistant: AssistantName? = nil)
  /// Ask the phone that the bearer token is for.
  case question(HealthQuestion)
  /// End the bearer token.
  case logout
}

extension RelayCall: CustomStringConvertible {
  /// Without the pair, and without what is asked.
  public var description: String {
    switch self {
    case .login: "a login"
    case .question(let question): "a question for \(question.kind.rawValue)"
    case .logout: "a logout"
    }
  }
}

/// What becomes of a call; said exactly once, unless its caller has gone.
public enum RelayOutcome: Sendable, Hashable, Codable {
  /// Paired.
  case loggedIn(RelayGrant)
  /// The token is worth nothing any more.
  case loggedOut
  /// What the phone answered, as it is; an error of the phone's own is an answer too.
  case data(HealthObject)
  /// Not done, for an honest reason.
  case refused(RelayRefusal)
}

/// A bearer token for one phone (RFC 6750).
public struct RelayGrant: Sendable, Hashable, Codable, CustomStringConvertible {
  /// A secret, said only here; the backend keeps its hash.
  public var accessToken: String
  /// From now on.
  public var expiresIn: Duration
  /// The same for all assistants of one phone.
  public var user: String

  /// A grant from its parts.
  public init(accessToken: String, expiresIn: Duration, user: String) {
    self.accessToken = accessToken
    self.expiresIn = expiresIn
    self.user = user
  }

  /// Without the secret.
  public var description: String { "access for \(user)" }
}

/// Why a call was not answered; `description` says it, and what to do, to people.
public enum RelayRefusal: Error, Sendable, Hashable, Codable {
  /// No phone shows this word and code now.
  case wrongPair
  /// Too many wrong pairs came, from here or in all.
  case lockedOut(retryAfter: Duration)
  /// No bearer token, or one that was never given out, or was logged out.
  case notSignedIn
  /// The bearer token's time is over.
  case tokenExpired
  /// The bearer token was ended before its time.
  case signedOut(SignOut)
  /// The phone is not connected.
  case phoneAway(since: Duration, Away)
  /// The same device connected anew without its resume token.
  case phoneReplaced
  /// The phone was asked and did not answer in time.
  case timedOut(after: Duration)
  /// The assistant took its question back.
  case cancelled
  /// The phone, or the backend, has as many questions as it takes.
  case tooManyWaiting(retryAfter: Duration)
  /// The phone answered in a way that cannot be read.
  case malformed(reason: String)
  /// The answer is longer than the backend carries.
  case answerTooLarge(limit: Int)
  /// The backend cannot write down what it must keep.
  case storeFailed(retryAfter: Duration)
  /// The backend goes away.
  case stopping(retryAfter: Duration)

  /// The reason for which a bearer token was ended before its time.
  public enum SignOut: Sendable, Hashable, Codable {
    /// Another assistant was paired with the phone, which has at most so many.
    case byAnother(limit: Int)
    /// The phone's user ended it.
    case byUser
  }

  /// What to expect of a phone that is away.
  public enum Away: String, Sendable, Hashable, Codable, CaseIterable {
    /// It may come back by itself and keeps its pairing.
    case mayReturn
    /// A push was sent to wake it, and it did not come.
    case wasWoken
    /// Its pairing is over: it has to be paired again.
    case pairAgain
  }
}

extension RelayRefusal: CustomStringConvertible {
  /// What happened and what to do, in a sentence or two for people.
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
    case .cancelled: "The question was taken back."
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

  /// Whole seconds, or minutes from two on.
  private static func text(_ time: Duration) -> String {
    let whole = time.retrySeconds
    return whole < 120 ? "\(whole) s" : "\(whole / 60) min"
  }
}
