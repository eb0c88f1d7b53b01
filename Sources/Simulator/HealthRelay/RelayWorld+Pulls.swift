import HealthRelay
import LinkCore
import LinkServerCore
import LinkWire

// A phone without a socket: it is woken, takes its questions, answers, and sleeps again.
extension RelayWorld {
  /// A push arrived.
  mutating func wake(_ host: HostID) {
    let phone = phones[host.index]
    let isConnected =
      kernel.hosts[host.place].isRunning && clients[host.index].status.state == .running
    let conditions = kernel.hosts[host.place].conditions
    guard !isConnected, phone.pull == nil, phone.resume != nil,
      kernel.hosts[host.place].process != .dead, !conditions.isUnreachable,
      conditions.portal == nil
    else { return }
    kernel.counts[.pulls] += 1
    note(.woken(phone: host.index))
    var pull = PullModel()
    let effects = pull.handle(.begin, at: now)
    phones[host.index].pull = pull
    phones[host.index].pullRun += 1
    phones[host.index].pullAnswers = [:]
    examinePull(host)
    carryOutPull(host, effects)
  }

  /// Tells the backend where the phone is woken, once it runs.
  mutating func tellPush(_ host: HostID) {
    guard kernel.plan.numbers.push == 1, phones[host.index].resume != nil else { return }
    request(host, .push(.hook("\(host.index)")), step: nil, within: .seconds(8))
  }

  mutating func givePull(_ host: HostID, _ input: PullModel.Input) {
    let now = now
    let effects = phones[host.index].pull?.handle(input, at: now) ?? []
    examinePull(host)
    carryOutPull(host, effects)
  }

  /// Reports what the last step of a pull broke.
  mutating func examinePull(_ host: HostID) {
    let depth = kernel.depthOfCheck()
    kernel.report(phones[host.index].pull?.brokenInvariants(depth) ?? [])
  }

  mutating func carryOutPull(_ host: HostID, _ effects: [PullModel.Effect]) {
    for effect in effects {
      switch effect {
      case .lease(let step, let max, let time):
        request(host, .lease(LeaseOrder(max: max)), step: step, within: time)
      case .read(let step, let leased):
        let cue = RelayFeature.Cue.pullRead(pull: phones[host.index].pullRun, step, leased)
        kernel.later(cue, on: host, after: readingTime(host))
      case .discard(let step): phones[host.index].pullAnswers[step] = nil
      case .post(let step, let work, let part, let lease, let time):
        let messages = phones[host.index].pullAnswers[work] ?? []
        guard messages.indices.contains(part) else { continue }
        let result = LeasedResult(lease: lease, message: messages[part])
        request(host, .result(result), step: step, within: time)
      case .refuse(let step, let result, let time):
        request(host, .result(result), step: step, within: time)
      case .finish(let report):
        note(.slept(phone: host.index, report))
        phones[host.index].pull = nil
      }
    }
  }

  private mutating func request(
    _ host: HostID, _ pull: RelayPull, step: StepID?, within time: Duration
  ) {
    let phone = phones[host.index]
    ask(
      .pull(pull, resume: phone.resume, pull: phone.pullRun, step), from: host, to: server,
      patience: time)
  }

  /// A request of a pull is over.
  mutating func pulled(
    _ pull: Int, _ step: StepID?, _ result: Result<RelayFeature.Reply, LinkFailure>,
    to host: HostID
  ) {
    guard let step, pull == phones[host.index].pullRun else { return }
    let input: PullModel.Input =
      switch result {
      case .failure(let failure): .failed(step, failure)
      case .success(.pulled(.leased(let questions))): .leased(step, questions)
      case .success(.pulled(.taken)), .success(.pulled(.registered)): .posted(step)
      case .success(.pulled(.refused(let reason))): .failed(step, Self.failure(reason.status))
      case .success(.status(let status)): .failed(step, Self.failure(status))
      case .success(.told), .success(.pulled(.assistants)):
        .failed(step, .protocolError(detail: "no answer to a pull"))
      }
    givePull(host, input)
  }

  private static func failure(_ status: Int) -> LinkFailure {
    .http(status: status, retryAfter: nil, detail: "refused")
  }

  mutating func finishPullReading(
    _ host: HostID, _ pull: Int, _ step: StepID, _ leased: LeasedQuestion
  ) {
    guard pull == phones[host.index].pullRun, phones[host.index].pull != nil else { return }
    let messages = read(host, leased.id, leased.question, inParts: true)
    phones[host.index].pullAnswers[step] = messages
    givePull(host, .prepared(step, parts: messages.count))
  }
}
