import HoldfastCore
import HoldfastMessageData
import HoldfastServerParts

@testable import HoldfastMessageServer

/// Random inputs for the gate of the operator's backend, and its promises. The backend is played by
/// the generator.
struct HookInputs: InputGenerator {
  var run: RandomRun<HookGate>
  private let policy: HookPolicy
  private var last: UInt64 = 0
  /// The questions that wait for a decision.
  private var waiting: [HookTicket: HookQuestion] = [:]
  /// The requests that have not ended.
  private var requests: [HookTicket] = []
  /// All questions of the run.
  private var questions: [HookTicket: HookQuestion] = [:]

  init(seed: UInt64) {
    var draw = PolicyDraw(generator: RandomSource(seed: seed))
    var policy = HookPolicy()
    let counts: [(WritableKeyPath<HookPolicy, Int>, [Int])] = [
      (\.maxInFlight, [0, 1, 2, 5]), (\.maxWaiting, [0, 1, 3]), (\.maxPerUser, [0, 1, 4]),
      (\.maxNotes, [0, 1, 3]), (\.maxNotesInFlight, [0, 1, 2]),
    ]
    draw.set(&policy, counts)
    draw.set(&policy, milliseconds: [(\.timeout, [1, 100, 900])])
    if draw.oneIn(2) { policy.onFailure = .open }
    self.policy = policy.workable
    run = RandomRun(HookGate(policy: policy), seed: seed, generator: draw.generator)
  }

  mutating func act() {
    passTime([.milliseconds(1), .milliseconds(60), .milliseconds(500), .seconds(3)])
    switch number(0...19) {
    case 0...2: ask(.connect)
    case 3...8: ask(.post(post()))
    case 9, 10: give(.tell(fresh(), HookNote(client(), code: 1_000, life: .zero, at: wall)))
    case 11: withdraw()
    case 12: for _ in 0..<number(2...9) { ask(.post(post())) }
    case _: end()
    }
  }

  static func request(in effect: HookGate.Effect) -> String? {
    switch effect {
    case .send(let ticket, _, _): "the end of \(ticket)"
    case .decide(let ticket, _): "the use of the decision about \(ticket)"
    case .report: nil
    }
  }
}

// MARK: Inputs
extension HookInputs {
  private mutating func fresh() -> HookTicket {
    last += 1
    return HookTicket(last)
  }

  private mutating func client() -> HookClient {
    HookClient(ConnectionID(last + 1), route: "stream", user: one(["ann", "bob", nil]))
  }

  private mutating func post() -> HookPost {
    HookPost(
      id: UUID128(high: 1, low: last + 1),
      key: oneIn(3) ? UUID128(high: 2, low: UInt64(number(1...3))) : nil, isEdit: oneIn(6),
      user: one(["ann", "bob"]), shop: one(["bakery", "cellar", nil]),
      content: MessageContent(one(["a", "a", "b"])))
  }

  private mutating func ask(_ subject: HookQuestion.Subject) {
    give(.ask(fresh(), HookQuestion(subject, of: client(), at: wall)))
  }

  private mutating func withdraw() {
    let ticket = waiting.keys.sorted().randomElement(using: &generator) ?? HookTicket(9_999)
    give(.withdraw(ticket))
  }

  /// Ends a request.
  private mutating func end() {
    guard !requests.isEmpty else { return }
    let ticket = oneIn(30) ? HookTicket(9_999) : one(requests)
    let body = oneIn(4) ? #"{"allow":false,"reason":"no"}"# : ""
    let outcome = HookOutcome.answered(
      status: one([200, 200, 200, 204, 403, 500]), body: Array(body.utf8))
    give(.ended(ticket, oneIn(9) ? .failed(detail: "gone") : outcome))
  }
}

// MARK: Promises
extension HookInputs {
  mutating func note(_ step: MachineStep<HookGate>) {
    let answer = note(step.input)
    for effect in step.effects { note(effect, answer) }
    require(
      waiting.keys.allSatisfy { step.after.entries[$0] != nil },
      "a question waits for its decision, or has it")
    require(requests.count <= policy.maxInFlight, "the backend gets few enough requests")
  }

  /// Notes an input. Returns the answer of the backend in it, if it is one.
  private mutating func note(_ input: HookGate.Input?) -> (HookTicket, HookReply)? {
    switch input {
    case .ask(let ticket, let question):
      waiting[ticket] = question
      questions[ticket] = question
    case .withdraw(let ticket): waiting[ticket] = nil
    case .tell, nil: break
    case .ended(let ticket, let outcome):
      guard requests.contains(ticket) else { return nil }
      requests.removeAll { $0 == ticket }
      return (ticket, HookReply(outcome))
    }
    return nil
  }

  private mutating func note(_ effect: HookGate.Effect, _ answer: (HookTicket, HookReply)?) {
    switch effect {
    case .send(let ticket, _, let limit):
      require(limit == policy.timeout, "a request has the time limit")
      noteRequest(ticket)
      requests.append(ticket)
    case .decide(let ticket, let verdict):
      guard let question = waiting.removeValue(forKey: ticket) else {
        return run.fail("only a question that waits is decided")
      }
      note(verdict, on: question, ticket, answer)
    case .report: break
    }
  }

  /// Checks that the posts of an author are asked about in their order, and each one once at a time.
  private mutating func noteRequest(_ ticket: HookTicket) {
    guard let question = questions[ticket], let lane = question.lane else { return }
    let earlier = waiting.filter { $0.key < ticket && $0.value.lane == lane }
    require(earlier.isEmpty, "the posts of an author are asked about in their order")
    let isAskedTwice = requests.contains { other in
      machine.entries[other] != nil
        && questions[other].map { question.isRepeat(of: $0) } ?? false
    }
    require(!isAskedTwice, "a post is asked about once at a time")
  }

  private mutating func note(
    _ verdict: HookVerdict, on question: HookQuestion, _ ticket: HookTicket,
    _ answer: (HookTicket, HookReply)?
  ) {
    let asked = answer.flatMap { questions[$0.0] }
    let isAnswer =
      answer?.0 == ticket || asked.map { question.isRepeat(of: $0) } ?? false
    switch verdict {
    case .allowed(let id):
      let isAnswered = isAnswer && answer?.1 == .allowed
      require(isAnswered || policy.onFailure == .open, "only an answer or an open policy allows")
      require((id == nil) == (question.post == nil), "an allowed post has an ID")
    case .denied: require(isAnswer, "only an answer denies")
    case .unanswered: require(policy.onFailure == .closed, "only a closed policy refuses")
    case .tooMany: require(question.user != nil, "only users have too many questions")
    }
  }

  private mutating func require(_ holds: Bool, _ property: String) {
    if !holds { run.fail(property) }
  }
}
