import HoldfastCore
package import HoldfastHealth
import HoldfastHealthRelay
public import HoldfastLinkChecks
import HoldfastRelayData
import HoldfastRelayServer

// The trace of a run.
extension RelayFeature {
  public static func describe(_ input: Input) -> TracePart {
    switch input {
    case .start: (.user, "starts the relay")
    case .stop: (.user, "stops the relay")
    case .resume: (.app, "has the token of an earlier process")
    case .link(let event): TraceText.cause(event)
    case .opened(let attempt): TraceText.connection(attempt, "is open")
    case .message(let attempt, let message):
      TraceText.connection(attempt, "brings \(describe(message))")
    case .unsent(let attempt): TraceText.connection(attempt, "takes no more")
    case .closed(let attempt): TraceText.connection(attempt, "has said goodbye")
    case .prepared(let work, let prepared):
      (.disk, "has answer \(work.number), \(TraceText.count(prepared.parts, "message"))")
    }
  }

  private static func describe(_ message: RelayModel.Message) -> String {
    switch message {
    case .paired(let welcome):
      "a code" + (welcome.isResumed ? ": the backend knows the phone again" : "")
    case .asked(let id, let question): "question \(question.number) (\(id))"
    case .cancelled(let id): "the end of question \(id): its assistant left"
    case .unknown(let type, _): "something unknown (\(type))"
    case .malformed: "something that is no message"
    }
  }

  public static func isWorth(_ input: Input, _ consequences: [TracePart]) -> Bool {
    switch input {
    case .link(.ping), .link(.pong), .closed: false
    case .link(.device(.lifecycle)): !consequences.isEmpty
    case .start, .stop, .resume, .link, .opened, .message, .unsent, .prepared: true
    }
  }

  public static func describe(_ effect: Effect, isVerbose: Bool) -> TracePart? {
    switch effect {
    case .open(let attempt, let resume):
      (
        .app,
        "connects" + (resume == nil ? "" : " as the phone it was")
          + ", as connection \(attempt.number)"
      )
    case .close(let attempt, let reason):
      (.app, "closes connection \(attempt.number): \(reason)")
    case .ping(let attempt, _):
      isVerbose ? (.app, "pings on connection \(attempt.number)") : nil
    case .read(let work, _, let question, _):
      (.app, "reads for question \(question.number), as answer \(work.number)")
    case .send(_, let work, let part): (.app, "sends message \(part + 1) of answer \(work.number)")
    case .discard(let work): isVerbose ? (.app, "lets go of answer \(work.number)") : nil
    case .fail(_, _, _, let reason), .refuse(_, _, _, let reason):
      (.app, "answers with an error: \(reason)")
    case .notify, .unnotify: nil
    case .update(.status): nil
    case .update(.pair): (.screen, "shows a word and a code")
    case .update(.assistant(let assistant)):
      (.screen, "shows that an assistant has signed in (\(assistant.id))")
    case .update(.ended(let receipt)):
      (.screen, "question \(receipt.question.number) is \(describe(receipt.outcome))")
    case .update(.problem(let problem, _)): (.screen, "problem: \(describe(problem))")
    }
  }

  private static func describe(_ outcome: RelayReceipt.Outcome) -> String {
    switch outcome {
    case .answered: "answered"
    case .refused(let reason): "refused: \(reason)"
    case .cancelled: "taken back"
    case .dropped: "dropped with its session"
    }
  }

  private static func describe(_ problem: RelayProblem) -> String {
    switch problem {
    case .connection(let cause): "all tries failed, the last one with \(TraceText.failure(cause))"
    case .inBackground: "the app is in the background"
    case .malformed: "something was no message"
    case .unknownType(let type): "something unknown came (\(type))"
    case .oversized(let bytes): "\(bytes) bytes were too many"
    case .unreadable(let reason): reason
    case .busy: "too many questions"
    }
  }

  public static func statusLabel(_ effect: Effect) -> String? {
    guard case .update(.status(let status)) = effect else { return nil }
    var label = status.state.rawValue
    if status.attempt > 0 { label += " try \(status.attempt)" }
    if status.attempt > 0, let all = status.maxAttempts { label += " of \(all)" }
    return label + (status.reason.map { ": \(TraceText.reason($0))" } ?? "")
  }

  public static func describe(_ fact: Fact) -> [TracePart] {
    switch fact {
    case .backendStarted: [(.server, "starts with what it kept")]
    case .backendEnded: [(.server, "ends")]
    case .called(_, let facts): [(.user, "assistant \(facts.assistant) \(describe(facts))")]
    case .answered(let callID, let outcome):
      [(.server, "tells call \(callID.number): \(describe(outcome))")]
    case .left(let callID): [(.user, "the assistant of call \(callID.number) is gone")]
    case .greeted(let phone, let attempt, let isResumed):
      [
        (
          .server,
          "sends phone \(phone) a code on connection \(attempt.number)"
            + (isResumed ? ", and knows it again" : "")
        )
      ]
    case .unpaired(let phone): [(.phone, "phone \(phone) may have lost its pairings")]
    case .stored, .joined, .parted: []
    case .filed(let callID, _): [(.server, "keeps the question of call \(callID.number)")]
    case .sent(let phone, _, let question, _):
      [(.server, "asks phone \(phone) question \(question)")]
    case .leased(let phone, let leased):
      [(.server, "lends phone \(phone) \(TraceText.count(leased.questions.count, "question"))")]
    case .registered(let phone): [(.server, "knows where phone \(phone) is woken")]
    case .pushFailed(let phone): [(.server, "hears that the push to phone \(phone) failed")]
    case .pushed(let phone): [(.server, "pushes, to wake phone \(phone)")]
    case .woken(let phone): [(.phone, "phone \(phone) is woken by a push")]
    case .slept(let phone, let report):
      [
        (
          .phone,
          "phone \(phone) sleeps again, \(TraceText.count(report.answered, "question")) answered"
        )
      ]
    case .leaked: [(.server, "logs a secret")]
    }
  }

  private static func describe(_ facts: RelayCallFacts) -> String {
    if let question = facts.question { return "asks question \(question) of phone \(facts.phone)" }
    if facts.isLogout { return "logs out" }
    let isGuess = facts.pair?.isGuess ?? false
    return isGuess ? "guesses a pair" : "logs in at phone \(facts.phone)"
  }

  private static func describe(_ outcome: RelayOutcome) -> String {
    switch outcome {
    case .loggedIn: "it is logged in"
    case .renewed: "it is renewed"
    case .loggedOut: "it is logged out"
    case .data(let object): object.succeeded ? "data" : "the phone's error"
    case .refused(let reason): "\(reason)"
    }
  }
}

extension HealthQuestion {
  /// Returns the question with the given number.
  package static func numbered(_ number: Int) -> HealthQuestion {
    let start = Timestamp(nanoseconds: Int64(number) * 1_000_000_000)
    return .healthData(
      HealthDataQuery(
        valueType: .steps, start: .instant(start, minutesEast: nil),
        end: .instant(start.advanced(by: .seconds(86_400)), minutesEast: nil)))
  }

  /// The question's number in this world.
  package var number: Int {
    guard case .healthData(let query) = self, case .instant(let start, _) = query.start else {
      return -1
    }
    return Int(start.nanoseconds / 1_000_000_000)
  }
}
