import HealthRelay
import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire

// A phone without a socket: it is woken, takes its questions, answers, and sleeps again.
extension RelayWorld {
  /// A request of a phone that will still be answered, or fail.
  struct Pulling {
    var phone: Int
    var pull: Int
    /// The step that waits; `nil` where a phone tells where it can be woken.
    var step: StepID?
  }

  mutating func wake(_ index: Int) {
    let phone = phones[index]
    let isRunning = phone.process == .running && phone.model.status.state == .running
    guard !isRunning, phone.pull == nil, phone.resume != nil, phone.process != .dead else { return }
    counts.pulls += 1
    say("phone \(index) is woken", 30)
    var pull = PullModel()
    let effects = pull.handle(.begin, at: now)
    phones[index].pull = pull
    phones[index].pullRun += 1
    phones[index].pullAnswers = [:]
    carryOutPull(index, effects)
  }

  /// Where it is woken, once it runs.
  mutating func tellPush(_ index: Int) {
    guard plan.hasPush, phones[index].resume != nil else { return }
    request(index, .push(.hook("\(index)")), step: nil, within: .seconds(8))
  }

  /// What has a socket again needs no visit.
  mutating func endPull(_ index: Int) { givePull(index, .cancel) }

  private mutating func givePull(_ index: Int, _ input: PullModel.Input) {
    carryOutPull(index, phones[index].pull?.handle(input, at: now) ?? [])
  }

  mutating func carryOutPull(_ index: Int, _ effects: [PullModel.Effect]) {
    for effect in effects {
      switch effect {
      case .lease(let step, let max, let time):
        request(index, .lease(LeaseOrder(max: max)), step: step, within: time)
      case .read(let step, let leased):
        let time = phones[index].reading ?? chance.duration(below: plan.reading)
        add(.pullRead(phone: index, pull: phones[index].pullRun, step, leased), after: time)
      case .discard(let step): phones[index].pullAnswers[step] = nil
      case .post(let step, let work, _, let lease, let time):
        guard let message = phones[index].pullAnswers[work] else { continue }
        let result = LeasedResult(lease: lease, message: message)
        request(index, .result(result), step: step, within: time)
      case .refuse(let step, let result, let time):
        request(index, .result(result), step: step, within: time)
      case .finish:
        say("phone \(index) sleeps again", 31)
        phones[index].pull = nil
      }
    }
  }

  private mutating func request(
    _ index: Int, _ pull: RelayPull, step: StepID?, within: Duration
  ) {
    lastAsk += 1
    let id = RequestID(lastAsk)
    pulls[id] = Pulling(phone: index, pull: phones[index].pullRun, step: step)
    if !phones[index].isUnreachable {
      add(.pullArrives(id, pull, secret: phones[index].resume), after: packet)
    }
    add(.pullFails(id), after: phones[index].isUnreachable ? .milliseconds(5) : within)
  }

  mutating func pullArrives(_ id: RequestID, _ pull: RelayPull, secret: Int?) {
    guard backend.isRunning else { return add(.pullFails(id), after: packet) }
    feed(.pull(id, pull, bearer: secret.map { TokenHash.of($0) }, wall: wall))
  }

  mutating func failPull(_ id: RequestID) {
    guard let pulling = pulls.removeValue(forKey: id), let step = pulling.step,
      pulling.pull == phones[pulling.phone].pullRun
    else { return }
    givePull(pulling.phone, .failed(step, .timeout(.response)))
  }

  mutating func replied(_ id: RequestID, _ reply: RelayReply) {
    guard let pulling = pulls.removeValue(forKey: id), let step = pulling.step,
      pulling.pull == phones[pulling.phone].pullRun
    else { return }
    switch reply {
    case .leased(let questions): givePull(pulling.phone, .leased(step, questions))
    case .taken, .registered: givePull(pulling.phone, .posted(step))
    case .refused(let reason):
      let failure = LinkFailure.http(status: reason.status, retryAfter: nil, detail: "refused")
      givePull(pulling.phone, .failed(step, failure))
    }
  }

  mutating func finishPullReading(
    _ index: Int, _ pull: Int, _ step: StepID, _ leased: LeasedQuestion
  ) {
    guard pull == phones[index].pullRun, phones[index].pull != nil else { return }
    let object = HealthObject.answer(of: index, to: leased.question.number)
    phones[index].pullAnswers[step] = .answer(leased.question.kind, leased.id, object)
    givePull(index, .prepared(step, parts: 1))
  }
}
