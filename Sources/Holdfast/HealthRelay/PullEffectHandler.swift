import HoldfastCore
import HoldfastHealthRelay
import HoldfastPorts
import HoldfastRelayData
import HoldfastSocket

/// The effect handler of a pull. It sends requests to the backend, reads health data, and holds the
/// messages produced.
actor PullEffectHandler: EffectHandler {
  let thread: EventThread
  let sink = InputSink<PullModel>()
  let updates = UpdateChannel<PullReport> { $0.append($1) }
  private let api: PullAPI
  private let answer: HealthPull.Answering
  private let tasks: EffectTasks<PullModel, StepID>
  /// The messages that a read produced, until they are discarded. A pull has only one read at a
  /// time.
  private var messages: [StepID: [PhoneMessage]] = [:]

  /// The maximum size of a message.
  ///
  /// A server accepts a request body of 64 KiB. The remainder is for the fields around the message.
  private static let maxMessageBytes = 60_000

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe thread.unownedExecutor }

  init(_ api: PullAPI, _ answer: @escaping HealthPull.Answering) {
    thread = .queue("holdfast.pull")
    (self.api, self.answer) = (api, answer)
    tasks = EffectTasks(sink)
  }

  func perform(_ effect: PullModel.Effect) {
    switch effect {
    case .lease(let step, let max, let time):
      tasks.start(step) { [api] () throws(LinkFailure) in
        .leased(step, try await api.lease(max, within: time))
      } failing: {
        .failed(step, $0)
      }
    case .read(let step, let leased): read(step, leased)
    case .discard(let step):
      messages[step] = nil
      tasks.cancel(step)
    case .post(let step, let work, let part, let lease, let time):
      // This cannot happen: the model only posts messages that it has not discarded.
      guard let all = messages[work], all.indices.contains(part) else {
        preconditionFailure("message \(part) of \(work) does not exist")
      }
      send(step, LeasedResult(lease: lease, message: all[part]), within: time)
    case .refuse(let step, let result, let time): send(step, result, within: time)
    case .finish(let report):
      tasks.stop()
      updates.put(report)
    }
  }

  func stop() { tasks.stop() }

  private func send(_ step: StepID, _ result: LeasedResult, within time: Duration) {
    tasks.start(step) { [api] () throws(LinkFailure) in
      try await api.post(result, within: time)
      return .posted(step)
    } failing: {
      .failed(step, $0)
    }
  }

  private func read(_ step: StepID, _ leased: LeasedQuestion) {
    tasks.start(step) { [answer] in
      let object = await answer(leased.id, leased.question)
      let frames = PhoneMessage.frames(
        answering: leased.question.kind, leased.id, object, atMost: Self.maxMessageBytes)
      await self.keep(frames, of: step)
      return .prepared(step, parts: frames.count)
    }
  }

  private func keep(_ frames: [PhoneMessage], of step: StepID) {
    guard !Task.isCancelled else { return }  // The step was discarded in the meantime.
    messages[step] = frames
  }
}
