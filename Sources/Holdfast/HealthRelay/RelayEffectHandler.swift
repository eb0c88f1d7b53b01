import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealth
import HoldfastHealthRelay
import HoldfastJSON
import HoldfastPorts
import HoldfastRelayData
import HoldfastSocket

/// The effect handler of a relay. It uses the sockets, reads answers, shows the notification, and
/// delivers updates.
actor RelayEffectHandler: EffectHandler {
  let thread: EventThread
  let sink = InputSink<RelayModel>()
  let updates: UpdateChannel<RelayUpdate>
  private let configuration: RelayConfiguration
  private let store: any HealthReading
  private let notices: Notices
  private let sockets: SocketPool
  private let readings: EffectTasks<RelayModel, WorkID>
  /// The messages of prepared answers, until the model discards them.
  private var answers: [WorkID: [[UInt8]]] = [:]

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe thread.unownedExecutor }

  init(
    _ configuration: RelayConfiguration, _ network: any SocketDialer & HTTPClient,
    _ store: any HealthReading
  ) {
    thread = network.eventThread(or: "holdfast.relay")
    self.configuration = configuration
    self.store = store
    updates = UpdateChannel(overflow: Self.overflow)
    notices = Notices(configuration.notifier)
    sockets = SocketPool(network, policy: configuration.settings.policy)
    readings = EffectTasks(sink)
  }

  /// Keeps the newest status, the newest pairing code and new assistants, and drops other updates.
  @Sendable private static func overflow(_ waiting: inout [RelayUpdate], _ next: RelayUpdate) {
    switch next {
    case .ended, .problem: return
    case .assistant: break
    case .status: waiting.removeAll { if case .status = $0 { true } else { false } }
    case .pair: waiting.removeAll { if case .pair = $0 { true } else { false } }
    }
    if waiting.count == UpdateChannel<RelayUpdate>.limit { waiting.removeFirst() }
    waiting.append(next)
  }

  func perform(_ effect: RelayModel.Effect) async {
    switch effect {
    case .open(let attempt, let resume): await open(attempt, resume)
    case .close(let attempt, let reason):
      sockets.close(attempt, code: reason.closeCode) { [sink] in await sink.post([.closed(attempt)])
      }
    case .ping(let attempt, let id): await sockets.ping(attempt, id: id)
    case .read(let work, let id, let question, let inParts):
      read(work, id, question, inParts: inParts)
    case .send(let attempt, let work, let part):
      guard let messages = answers[work], messages.indices.contains(part) else { return }
      await send(messages[part], on: attempt)
    case .discard(let work):
      readings.cancel(work)
      answers[work] = nil
    case .fail(let work, let id, let kind, let reason):
      answers[work] = [PhoneMessage.refusal(id, kind, reason).bytes]
    case .refuse(let attempt, let id, let kind, let reason):
      await send(PhoneMessage.refusal(id, kind, reason).bytes, on: attempt)
    case .notify(let status): notices.put(configuration.notification(status))
    case .unnotify: notices.put(nil)
    case .update(.status(let status)):
      updates.put(.status(status), failure: status.isFinal ? status.failure : nil)
    case .update(let update): updates.put(update)
    }
  }

  func stop() async {
    readings.stop()
    answers = [:]
    await sockets.stop()
    await notices.end()
  }

  private func open(_ attempt: AttemptID, _ resume: Secret?) async {
    var headers = [(name: "Holdfast-Device", value: configuration.phone.description)]
    if let resume { headers.append((name: "Holdfast-Resume", value: resume.text)) }
    var request = SocketRequest(
      url: ServerURL.socket(configuration.server, RelayConfiguration.path), headers: headers,
      openTimeout: configuration.settings.policy.establish.openTimeout,
      maxMessageBytes: BackendMessage.maxBytes)
    request.note = sink.notes(of: attempt)
    let secrets = [resume?.text].compactMap(\.self)
    let sink = sink
    await sockets.open(attempt, request, hiding: secrets) { events, _ in
      let inputs: [RelayModel.Input] = events.map { event in
        event.input(of: attempt) { _ in
          .opened(attempt)
        } message: {
          .message(attempt, RelayModel.Message($0))
        } link: {
          .link($0)
        }
      }
      await sink.post(inputs)
    }
  }

  private func send(_ bytes: [UInt8], on attempt: AttemptID) async {
    await sockets.send(SocketMessage(text: bytes), on: attempt) { [sink] in
      await sink.post([.unsent(attempt)])
    }
  }

  private func read(
    _ work: WorkID, _ id: RelayRequestID, _ question: HealthQuestion, inParts: Bool
  ) {
    let (zone, now) = (configuration.zone, configuration.ports.clock.wall)
    readings.start(work) { [store, watch = configuration.watch] in
      let answer = await RelayAnswer.make(
        question, zone: zone, now: now, limits: inParts ? .parts : .oneFrame, from: store)
      guard !Task.isCancelled else { return nil }
      watch?(id, answer.object)
      let messages = await answer.messages(to: id, question.kind, inParts: inParts)
      await self.keep(messages, of: work)
      return .prepared(work, RelayModel.Prepared(parts: messages.count, content: answer.content))
    }
  }

  private func keep(_ messages: [[UInt8]], of work: WorkID) {
    guard !Task.isCancelled else { return }  // The work was discarded in the meantime.
    answers[work] = messages
  }
}

extension RelayModel.Message {
  /// Creates a message from a received frame.
  fileprivate init(_ message: SocketMessage) {
    guard message.isText, let bytes = message.bytes else {
      self = .malformed(RelayWireError(.malformed(detail: "a binary frame instead of text")))
      return
    }
    do throws(RelayWireError) {
      self.init(try BackendMessage.read(bytes))
    } catch {
      self = .malformed(error)
    }
  }
}

extension PhoneMessage {
  /// Returns a failure in the form of an answer, so that any backend can match it with its
  /// question.
  fileprivate static func refusal(
    _ id: RelayRequestID?, _ kind: HealthQuestion.Kind?, _ reason: String
  ) -> PhoneMessage {
    guard let id, let kind else { return .failure(id, reason: reason) }
    return .answer(kind, id, .failure(reason))
  }
}
