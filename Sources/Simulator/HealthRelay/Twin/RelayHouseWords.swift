import LinkCore
import LinkHealth
import LinkServerCore

/// What is said of outcomes and replies, to programs and to people, told a second time.
enum RelayHouseWords {
  static func name(of outcome: RelayOutcome) -> String {
    switch outcome {
    case .loggedIn: "logged_in"
    case .loggedOut: "logged_out"
    case .data(let object): object.succeeded ? "answered" : "answered_error"
    case .refused(let refusal): name(of: refusal)
    }
  }

  static func name(of refusal: RelayRefusal) -> String {
    switch refusal {
    case .wrongPair: "invalid_credentials"
    case .lockedOut: "locked_out"
    case .notSignedIn: "not_signed_in"
    case .tokenExpired: "token_expired"
    case .signedOut: "signed_out"
    case .phoneAway: "phone_away"
    case .phoneReplaced: "phone_replaced"
    case .timedOut: "timed_out"
    case .cancelled: "cancelled"
    case .tooManyWaiting: "too_many_waiting"
    case .malformed: "malformed_answer"
    case .answerTooLarge: "answer_too_large"
    case .storeFailed: "store_failed"
    case .stopping: "stopping"
    }
  }

  static func name(of reply: RelayReply) -> String {
    switch reply {
    case .leased: "leased"
    case .assistants: "assistants"
    case .taken: "taken"
    case .registered: "registered"
    case .refused(let refusal): word(of: refusal).name
    }
  }

  /// The name of a refused pull, and its status on HTTP.
  static func word(of refusal: PullRefusal) -> (name: String, status: Int) {
    switch refusal {
    case .notSignedIn: ("not_signed_in", 401)
    case .unknownQuestion: ("unknown_question", 404)
    case .unknownAssistant: ("unknown_assistant", 404)
    case .leaseExpired: ("lease_expired", 409)
    case .notWanted: ("not_wanted", 410)
    case .malformed: ("malformed", 400)
    case .tooLarge: ("too_large", 413)
    case .storeFailed: ("store_failed", 503)
    case .busy: ("busy", 503)
    }
  }

  /// The times and bounds that a sentence for people names, in their order.
  static func figures(of refusal: RelayRefusal) -> [String] {
    switch refusal {
    case .lockedOut(let time), .phoneAway(let time, _), .timedOut(let time),
      .tooManyWaiting(let time), .storeFailed(let time), .stopping(let time):
      [wait(time)]
    case .signedOut(.byAnother(let limit)), .answerTooLarge(let limit): ["\(limit)"]
    case .malformed(let reason): [reason]
    case .wrongPair, .notSignedIn, .tokenExpired, .signedOut(.byUser), .phoneReplaced, .cancelled:
      []
    }
  }

  /// What a sentence must tell the reader to do.
  static func advice(in refusal: RelayRefusal) -> String {
    switch refusal {
    case .wrongPair: "Look at the phone and give both as it shows them"
    case .lockedOut: "with the word and code that the phone shows then."
    case .notSignedIn: "Not signed in."
    case .tokenExpired: "The sign-in has expired."
    case .signedOut(.byAnother): "Another assistant was paired with this phone."
    case .signedOut(.byUser): "Ask the user before you log in again."
    case .phoneAway(_, .mayReturn): "). Ask the user to open the app, then ask again."
    case .phoneAway(_, .wasWoken): "did not wake when it was called."
    case .phoneAway(_, .pairAgain): "its pairing is over."
    case .phoneReplaced: "The phone was connected anew"
    case .timedOut: "The phone was asked and did not answer within"
    case .cancelled: "The question was taken back."
    case .tooManyWaiting: "Too many questions wait already."
    case .malformed: "The phone's answer cannot be read"
    case .answerTooLarge: "Ask for a shorter time, or group it."
    case .storeFailed: "The backend cannot store what it must keep."
    case .stopping: "The backend is about to restart."
    }
  }

  /// Seconds, none of which is cut; from two minutes on minutes.
  static func wait(_ time: Duration) -> String {
    var seconds = max(1, time.nanoseconds / 1_000_000_000)
    if Duration.seconds(seconds) < time { seconds += 1 }
    return seconds >= 120 ? "\(seconds / 60) min" : "\(seconds) s"
  }

  /// What an outcome says of itself otherwise than it must.
  static func stray(of outcome: RelayOutcome) -> String? {
    if outcome.word != name(of: outcome) { return "an outcome is called \(outcome.word)" }
    switch outcome {
    case .loggedIn(let grant):
      return "\(grant)" == "access for \(grant.user)" ? nil : "a grant tells \(grant)"
    case .loggedOut, .data: return nil
    case .refused(let refusal):
      let text = refusal.description
      let must = figures(of: refusal) + [advice(in: refusal)]
      let isWhole = refusal.word == name(of: refusal) && must.allSatisfy { text.contains($0) }
      return isWhole ? nil : "a refusal says \(text), without \(must)"
    }
  }

  /// What the reply to a pull says of itself otherwise than it must.
  static func stray(of reply: RelayReply) -> String? {
    guard case .refused(let refusal) = reply else { return nil }
    let (found, must) = ((refusal.word, refusal.status), word(of: refusal))
    return found == must ? nil : "a refused pull says \(found), not \(must)"
  }
}
