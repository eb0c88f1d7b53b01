import HealthRelay
import LinkCore
import LinkRuntime
import LinkWire

/// Carries out what the model asks for: it translates, and decides nothing.
actor RelayShell {
  private let configuration: RelayConfiguration
  private let environment: RelayEnvironment
  private let updates: UpdateChannel<RelayUpdate>
  private let notices: Notices
  private var sockets = Sockets()
  /// Answers that are read now.
  private var readings: [WorkID: Task<Void, Never>] = [:]
  /// Messages of answers that were read; the model discards each of them.
  private var answers: [WorkID: [[UInt8]]] = [:]
  /// Sockets that say goodbye; the last thing that is waited for.
  private var closing: [AttemptID: Task<Void, Never>] = [:]
  /// Leads back to the driver, which holds the shell; gone once stopped, so that both can go.
  private var post: Post?

  /// Brings inputs to the driver, in order.
  typealias Post = @Sendable ([RelayModel.Input]) async -> Void

  init(
    _ configuration: RelayConfiguration, environment: RelayEnvironment,
    updates: UpdateChannel<RelayUpdate>
  ) {
    self.configuration = configuration
    self.environment = environment
    self.updates = updates
    notices = Notices(environment.notifier)
  }

  /// Says where inputs go; before the first effect.
  func connect(_ post: @escaping Post) { self.post = post }

  func perform(_ effect: RelayModel.Effect) async {
    switch effect {
    case .open(let attempt, let resume): await open(attempt, resume)
    case .close(let attempt, let code): close(attempt, code: code)
    case .ping(let attempt, let id): await sockets[attempt]?.ping(id: id)
    case .read(let work, let id, let question, let inParts):
      read(work, id, question, inParts: inParts)
    case .send(let attempt, let work, let part):
      guard let messages = answers[work], messages.indices.contains(part) else { return }
      await send(messages[part], on: attempt)
    case .discard(let work):
      readings.removeValue(forKey: work)?.cancel()
      answers[work] = nil
    case .fail(let work, let id, let kind, let reason):
      answers[work] = [PhoneMessage.refusal(id, kind, reason).bytes]
    case .refuse(let attempt, let id, let kind, let reason):
      await send(PhoneMessage.refusal(id, kind, reason).bytes, on: attempt)
    case .notify(let status): notices.put(configuration.words(status))
    case .unnotify: notices.put(nil)
    case .update(let update): updates.put(update)
    }
  }

  /// Ends everything that is under way; nothing is begun any more.
  func stop() async {
    // It holds the driver, which holds this.
    post = nil
    for reading in readings.values { reading.cancel() }
    (readings, answers) = ([:], [:])
    for attempt in sockets.end() { close(attempt, code: 1000) }
    for task in closing.values { await task.value }
    await notices.end()
    updates.end()
  }

  private func open(_ attempt: AttemptID, _ resume: Secret?) async {
    guard let post else { return }
    var headers = [(name: "Holdfast-Device", value: configuration.device.description)]
    if let resume { headers.append((name: "Holdfast-Resume", value: resume.text)) }
    let redaction = Redaction([resume?.text].compactMap(\.self))
    let request = SocketRequest(
      url: ServerURL.socket(configuration.server, RelayConfiguration.path), headers: headers,
      openTimeout: configuration.settings.policy.establish.openTimeout,
      maxMessageBytes: BackendMessage.maxBytes)
    sockets.begin(attempt)
    let socket = await environment.network.openInTurns(request) { [weak self] events in
      await post(events.compactMap { Self.input(attempt, $0, redaction) })
      if case .failed = events.last { await self?.forget(attempt) }
    }
    sockets.keep(socket, for: attempt)
  }

  private func forget(_ attempt: AttemptID) { sockets.forget(attempt) }

  private func close(_ attempt: AttemptID, code: UInt16) {
    guard let socket = sockets.take(attempt) else {
      // It never was, or is gone: there is nobody to say goodbye to.
      closing[attempt] = Task { [post] in
        await post?([.closed(attempt)])
        self.closing[attempt] = nil
      }
      return
    }
    closing[attempt] = Task { [post] in
      await socket.close(code: code, reason: "")
      await post?([.closed(attempt)])
      self.closing[attempt] = nil
    }
  }

  private func send(_ bytes: [UInt8], on attempt: AttemptID) async {
    guard let socket = sockets[attempt] else { return }  // its loss is on its way
    if await socket.send(text: bytes) { return }
    // Not awaited: room in the driver's line comes only when this returns.
    Task { [post] in await post?([.unsent(attempt)]) }
  }

  private func read(
    _ work: WorkID, _ id: RelayRequestID, _ question: RelayQuestion, inParts: Bool
  ) {
    let answering = HealthAnswering(
      question, zone: configuration.zone, now: environment.clock.wall,
      limits: inParts ? .parts : .oneFrame)
    readings[work] = Task { [store = environment.store, watch = configuration.watch] in
      let answer = await RelayAnswer.make(answering, from: store)
      guard !Task.isCancelled else { return }
      watch?(id, answer.object)
      let messages = await answer.messages(to: id, question.kind, inParts: inParts)
      self.finish(work, messages)
      await self.post?(
        [.prepared(work, RelayModel.Prepared(parts: messages.count, content: answer.content))])
    }
  }

  private func finish(_ work: WorkID, _ messages: [[UInt8]]) {
    guard readings.removeValue(forKey: work) != nil else { return }  // discarded meanwhile
    answers[work] = messages
  }

  private static func input(
    _ attempt: AttemptID, _ event: SocketEvent, _ redaction: Redaction
  ) -> RelayModel.Input? {
    switch event {
    case .opened: .opened(attempt)
    case .text(let bytes): .message(attempt, RelayModel.Message(bytes))
    case .binary:
      .message(
        attempt,
        .malformed(RelayWireError(.malformed(detail: "a binary frame where text is spoken"))))
    case .ping: .ping(attempt)
    case .pong(let id): .pong(attempt, id)
    case .oversized(let bytes): .oversized(attempt, bytes: bytes)
    case .failed(let failure): .lost(attempt, redaction.clean(failure))
    }
  }
}

extension RelayModel.Message {
  /// What the bytes of the backend say.
  init(_ bytes: [UInt8]) {
    do throws(RelayWireError) {
      self.init(try BackendMessage.read(bytes))
    } catch {
      self = .malformed(error)
    }
  }
}

extension PhoneMessage {
  /// A failure in the form in which a success would have come, so that any backend finds it.
  fileprivate static func refusal(
    _ id: RelayRequestID?, _ kind: RelayQuestion.Kind?, _ reason: String
  ) -> PhoneMessage {
    guard let id, let kind else { return .failure(id, reason: reason) }
    switch kind {
    case .healthData: return .healthData(id, .failure(reason))
    case .summary: return .summary(id, .failure(reason))
    }
  }
}
