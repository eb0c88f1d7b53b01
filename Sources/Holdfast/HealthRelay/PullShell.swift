import HealthRelay
import LinkCore
import LinkRuntime
import LinkWire

/// Carries out what a pull asks for: exchanges, readings, and the messages that were read.
actor PullShell {
  private let api: PullAPI
  private let answer: HealthPull.Answering
  private var post: (@Sendable (PullModel.Input) async -> Void)?
  /// What is under way for a step, so that it can be cut.
  private var work: [StepID: Task<Void, Never>] = [:]
  /// What a reading came to, until it is discarded; the pull has one at a time.
  private var messages: [StepID: [PhoneMessage]] = [:]
  private var report: PullReport?
  private var waiter: CheckedContinuation<PullReport, Never>?

  /// A server takes a request body of 64 KiB; what is around the message stays below the rest.
  private static let maxMessageBytes = 60_000

  init(api: PullAPI, answer: @escaping HealthPull.Answering) {
    (self.api, self.answer) = (api, answer)
  }

  /// Says where the news go.
  func begin(_ post: @escaping @Sendable (PullModel.Input) async -> Void) {
    self.post = post
  }

  /// Waits for the end; call it once.
  func finished() async -> PullReport {
    if let report { return report }
    return await withCheckedContinuation { waiter = $0 }
  }

  func perform(_ effect: PullModel.Effect) {
    switch effect {
    case .lease(let step, let max, let time):
      exchange(step) { api throws(LinkFailure) in
        .leased(step, try await api.lease(max, within: time))
      }
    case .read(let step, let leased): read(step, leased)
    case .discard(let step):
      messages[step] = nil
      work.removeValue(forKey: step)?.cancel()
    case .post(let step, let work, let part, let lease, let time):
      // A proven impossibility: the model posts what a reading prepared and it did not discard.
      guard let all = messages[work], all.indices.contains(part) else {
        preconditionFailure("message \(part) of \(work) is not there")
      }
      send(step, LeasedResult(lease: lease, message: all[part]), within: time)
    case .refuse(let step, let result, let time): send(step, result, within: time)
    case .finish(let report):
      for task in work.values { task.cancel() }
      (work, messages) = ([:], [:])
      // It holds the driver, which holds this.
      post = nil
      self.report = report
      waiter?.resume(returning: report)
      waiter = nil
    }
  }

  private func send(_ step: StepID, _ result: LeasedResult, within time: Duration) {
    exchange(step) { api throws(LinkFailure) in
      try await api.post(result, within: time)
      return .posted(step)
    }
  }

  private func exchange(
    _ step: StepID,
    _ body: @escaping @Sendable (PullAPI) async throws(LinkFailure) -> PullModel.Input
  ) {
    work[step] = Task { [api] in
      let news: PullModel.Input
      do throws(LinkFailure) {
        news = try await body(api)
      } catch {
        news = .failed(step, error)
      }
      await tell(step, news)
    }
  }

  private func read(_ step: StepID, _ leased: LeasedQuestion) {
    work[step] = Task { [answer] in
      let object = await answer(leased.id, leased.question)
      let frames = PhoneMessage.frames(
        answering: leased.question.kind, leased.id, object, atMost: Self.maxMessageBytes)
      guard work[step] != nil else { return }  // discarded meanwhile
      messages[step] = frames
      await tell(step, .prepared(step, parts: frames.count))
    }
  }

  /// Only of what is still wanted.
  private func tell(_ step: StepID, _ news: PullModel.Input) async {
    guard work.removeValue(forKey: step) != nil else { return }
    await post?(news)
  }
}
