public import HoldfastCore
public import HoldfastHealthRelay
public import HoldfastLinkChecks
public import HoldfastRelayData
public import HoldfastRelayServer

/// A fact that is specific to this world.
public enum RelayFact: Sendable, Equatable {
  case backendStarted
  /// The backend's process ended. Waiting assistants notice a broken connection.
  case backendEnded
  /// A call reached the backend.
  case called(RequestID, RelayCallFacts)
  /// The backend sent an outcome.
  case answered(RequestID, RelayOutcome)
  /// The backend was notified that an assistant left.
  case left(RequestID)
  /// The backend stored a question with its assistant while handling the assistant's call.
  case filed(RequestID, StoredQuestion)
  /// The backend sent a phone its pair over a socket.
  case greeted(phone: Int, AttemptID, isResumed: Bool)
  /// The pairings of a phone may have ended, because the phone started anew or was away for too
  /// long.
  case unpaired(phone: Int)
  /// The questions that the backend has stored, and the time of its wall clock.
  case stored([StoredQuestion], wall: Timestamp)
  /// The backend sent a phone its pair over a connection, or was notified of the end of that
  /// connection.
  case joined(phone: Int, over: TrafficID)
  case parted(phone: Int, over: TrafficID)
  /// The backend sent a phone a question over a connection. `question` is its number.
  case sent(phone: Int, RelayRequestID, question: Int, over: TrafficID)
  /// The backend leased questions to a phone without a socket.
  case leased(phone: Int, LeasedQuestions)
  /// The push address of a phone is durable.
  case registered(phone: Int)
  case pushed(phone: Int)
  /// The push service reported that a push was not delivered.
  case pushFailed(phone: Int)
  case woken(phone: Int)
  case slept(phone: Int, PullReport)
  /// A log line of the backend contains a secret.
  case leaked(String)
}

/// A call from an assistant.
public struct RelayCallFacts: Sendable, Hashable {
  /// The number of the assistant.
  public var assistant: Int
  /// The bearer token.
  public var token: String?
  /// The number of the question; `nil` for logins and logouts.
  public var question: Int?
  /// Whether the call ends its own token.
  public var isLogout = false
  /// The pair with which the call logs in.
  public var pair: RelayGivenPair?
  /// Whether the backend and the phone were connected, with nothing delayed between them, when the
  /// call arrived.
  public var isSound = false

  package init(
    assistant: Int, token: String? = nil, question: Int? = nil, isLogout: Bool = false,
    pair: RelayGivenPair? = nil, isSound: Bool = false
  ) {
    (self.assistant, self.token, self.question) = (assistant, token, question)
    (self.isLogout, self.pair, self.isSound) = (isLogout, pair, isSound)
  }

  /// The index of the phone that the assistant asks.
  public var phone: Int { min(assistant, RelayFeature.phones - 1) }
}

/// The pair of a login.
public struct RelayGivenPair: Sendable, Hashable {
  /// The word and the code. They are a secret of the world.
  public var text: String
  /// Whether no phone has ever shown the pair.
  public var isGuess = false

  package init(text: String, isGuess: Bool = false) {
    (self.text, self.isGuess) = (text, isGuess)
  }
}
