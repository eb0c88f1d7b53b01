import LinkCore
import LinkHealth
import LinkStorage
import LinkWire

extension RelayServer {
  /// A phone said something on its socket.
  mutating func said(_ connection: ConnectionID, _ message: PhoneMessage) {
    guard let phone = speaker(on: connection) else { return metrics.strays += 1 }
    switch message {
    case .healthData(let id, let object):
      deliver(object, as: .healthData, to: question(id, of: phone), on: connection)
    case .summary(let id, let object):
      deliver(object, as: .summary, to: question(id, of: phone), on: connection)
    case .part(let id, let part):
      guard let call = question(id, of: phone) else { return stray(on: connection) }
      if case .failure(let fault) = gather(part, for: call) { spoil(call, fault) }
    case .failure(let id?, let reason):
      guard let call = question(id, of: phone) else { return stray(on: connection) }
      settle(call, .data(.failure(Self.text(reason))), byPhone: true)
    case .failure(nil, let reason):
      guard let call = unnamed(on: connection, of: phone) else { return }
      settle(call, .data(.failure(Self.text(reason))), byPhone: true)
    case .unknown(_, let id):
      guard let call = id.flatMap({ question($0, of: phone) }) else {
        return stray(on: connection)
      }
      settle(call, .refused(.malformed(reason: "a message of an unknown type")), byPhone: true)
    }
  }

  /// A phone sent what is no message.
  mutating func unreadable(_ connection: ConnectionID, _ error: RelayWireError) {
    guard let phone = speaker(on: connection) else { return metrics.strays += 1 }
    let call =
      if let id = error.id { question(id, of: phone) } else {
        unnamed(on: connection, of: phone)
      }
    guard let call else { return error.id == nil ? () : stray(on: connection) }
    settle(call, .refused(.malformed(reason: error.description)), byPhone: true)
  }

  /// Whose socket it is, while the phone is here on it.
  private func speaker(on connection: ConnectionID) -> RelayPhone? {
    guard let socket = sockets[connection], socket.life.isOpen,
      let phone = socket.phone.flatMap({ phones[$0] }), phone.presence == .here(connection)
    else { return nil }
    return phone
  }

  /// An open question that was given to this phone.
  func question(_ id: RelayRequestID, of phone: RelayPhone) -> CallID? {
    guard let number = callsByRequest[id], let call = calls[number], call.phone == phone.id,
      call.tries > 0
    else { return nil }
    return number
  }

  /// The question that an error without an id is about: the one under way, if no other is owed.
  private mutating func unnamed(on connection: ConnectionID, of phone: RelayPhone) -> CallID? {
    guard sockets[connection]?.owed == 0,
      let call = phone.line.first(where: { calls[$0]?.stage == .asked(connection) })
    else {
      stray(on: connection)
      return nil
    }
    return call
  }

  /// Late, twice, or never asked for.
  private mutating func stray(on connection: ConnectionID) {
    metrics.strays += 1
    let owed = sockets[connection]?.owed ?? 0
    if owed > 0 { sockets[connection]?.owed = owed - 1 }
  }

  private mutating func deliver(
    _ object: HealthObject, as kind: HealthQuestion.Kind, to call: CallID?,
    on connection: ConnectionID
  ) {
    guard let call else { return stray(on: connection) }
    if let fault = fault(in: object, as: kind, for: call) {
      return spoil(call, fault, byPhone: true)
    }
    settle(call, .data(object), byPhone: true)
  }

  /// What is wrong with an answer, if anything.
  func fault(
    in object: HealthObject, as kind: HealthQuestion.Kind, for call: CallID
  ) -> AnswerFault? {
    if kind != calls[call]?.question.kind { return .malformed("it answers another question") }
    if object.bytes.count > policy.maxAnswerBytes { return .tooLarge }
    return object.shapeFault(as: kind).map { .malformed($0) }
  }

  /// Takes a part of an answer; ends the question with the last one.
  ///
  /// An answer that is whole and cannot be read may come anew.
  mutating func gather(_ part: HealthPart, for id: CallID) -> Result<Void, AnswerFault> {
    guard var call = calls[id] else { return .success(()) }
    guard part.kind == call.question.kind else {
      return .failure(.malformed("it answers another question"))
    }
    guard part.index >= call.parts else { return .success(()) }  // Said again.
    let length = part.text.utf8.count
    guard call.bytes + length <= policy.maxAnswerBytes else { return .failure(.tooLarge) }
    guard gathered + length <= policy.maxGatheredBytes else { return .failure(.noRoom) }
    let whole: HealthObject?
    do {
      // Out of the dictionary, so that the bytes are not copied with every part.
      calls[id] = nil
      defer { calls[id] = call }
      whole = try call.assembly.take(part, of: call.id)
      call.parts += 1
      call.bytes += length
      gathered += length
    } catch {
      if call.assembly.isWhole { forgetParts(of: id) }
      return .failure(.malformed(error.description))
    }
    guard let whole else { return .success(()) }
    if let fault = whole.shapeFault(as: part.kind) {
      forgetParts(of: id)
      return .failure(.malformed(fault))
    }
    settle(id, .data(whole), byPhone: true)
    return .success(())
  }

  private mutating func forgetParts(of id: CallID) {
    gathered -= calls[id]?.bytes ?? 0
    calls[id]?.forgetParts()
  }

  /// Why an answer cannot be passed on.
  enum AnswerFault: Error, Sendable, Equatable {
    case malformed(String)
    case tooLarge
    /// Too much of other answers is held already.
    case noRoom
  }

  /// Ends a question whose answer cannot be passed on.
  mutating func spoil(_ call: CallID, _ fault: AnswerFault, byPhone: Bool = false) {
    let refusal: RelayRefusal =
      switch fault {
      case .malformed(let reason): .malformed(reason: reason)
      case .tooLarge: .answerTooLarge(limit: policy.maxAnswerBytes)
      case .noRoom: .tooManyWaiting(retryAfter: policy.busyRetry)
      }
    settle(call, .refused(refusal), byPhone: byPhone)
  }

  /// The socket ended over a message that was too long: its answer, whenever it is asked again.
  mutating func refuseTooLarge(_ id: PhoneID, on connection: ConnectionID) {
    for call in phones[id]?.line ?? [] where calls[call]?.stage == .asked(connection) {
      settle(call, .refused(.answerTooLarge(limit: policy.maxAnswerBytes)), byPhone: true)
    }
  }

  /// Why a phone did not answer, in words even if it gives none.
  static func text(_ reason: String) -> String {
    reason.isEmpty ? "the phone could not answer" : reason
  }
}
