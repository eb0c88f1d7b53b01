import LinkCore
import LinkHealth
import LinkJSON
import LinkServerCore
import LinkWire

// What phones say on their sockets.
extension RelayHouse {
  /// Why an answer cannot be passed on.
  enum Fault: Error, Equatable {
    case malformed(String)
    case tooLong, noRoom
  }

  mutating func hear(_ connection: ConnectionID, _ message: PhoneMessage) {
    guard let phone = speaker(connection) else { return count("relay_strays_total") }
    let number = message.id.flatMap { given($0, to: phone) }
    switch message {
    case .healthData(_, let object): take(object, .healthData, number, on: connection)
    case .summary(_, let object): take(object, .summary, number, on: connection)
    case .part(_, let part):
      guard let number else { return stray(on: connection) }
      if case .failure(let fault) = add(part, to: number) { spoil(number, fault) }
    case .failure(.some, let reason):
      guard let number else { return stray(on: connection) }
      fail(number, reason)
    case .failure(.none, let reason):
      if let number = meant(by: phone, on: connection) { fail(number, reason) }
    case .unknown:
      guard let number else { return stray(on: connection) }
      spoil(number, .malformed("a message of an unknown type"), byPhone: true)
    }
  }

  mutating func puzzle(_ connection: ConnectionID, _ error: RelayWireError) {
    guard let phone = speaker(connection) else { return count("relay_strays_total") }
    guard let id = error.id else {
      if let number = meant(by: phone, on: connection) {
        spoil(number, .malformed(error.description), byPhone: true)
      }
      return
    }
    guard let number = given(id, to: phone) else { return stray(on: connection) }
    spoil(number, .malformed(error.description), byPhone: true)
  }

  /// The phone that is here on a socket.
  private func speaker(_ connection: ConnectionID) -> PhoneID? {
    guard isOpen(connection) else { return nil }
    return phones.values.first { $0.place == .here(connection) }?.id
  }

  /// An open question that a phone was given.
  func given(_ id: RelayRequestID, to phone: PhoneID) -> UInt64? {
    calls.first { $0.id == id && $0.phone == phone && $0.tries > 0 }?.number
  }

  /// The question that is meant where none is named.
  private mutating func meant(by phone: PhoneID, on connection: ConnectionID) -> UInt64? {
    let asked = calls.first { $0.phone == phone && $0.stage == .asked(connection) }
    if let asked, sockets[connection]?.owed == 0 { return asked.number }
    stray(on: connection)
    return nil
  }

  private mutating func stray(on connection: ConnectionID) {
    count("relay_strays_total")
    if let owed = sockets[connection]?.owed, owed > 0 { sockets[connection]?.owed = owed - 1 }
  }

  mutating func fail(_ number: UInt64, _ reason: String) {
    let reason = reason == "" ? "the phone could not answer" : reason
    settle(number, .data(.failure(reason)), byPhone: true)
  }

  private mutating func take(
    _ object: HealthObject, _ kind: HealthQuestion.Kind, _ number: UInt64?,
    on connection: ConnectionID
  ) {
    guard let number else { return stray(on: connection) }
    if let fault = fault(object, kind, number) { return spoil(number, fault, byPhone: true) }
    settle(number, .data(object), byPhone: true)
  }

  func fault(_ object: HealthObject, _ kind: HealthQuestion.Kind, _ number: UInt64) -> Fault? {
    let asked = place(of: number).map { calls[$0].question.kind }
    if asked != kind { return .malformed("it answers another question") }
    if object.bytes.count > numbers.maxAnswerBytes { return .tooLong }
    return RelayHouseShape.fault(object.bytes, kind).map { .malformed($0) }
  }

  mutating func spoil(_ number: UInt64, _ fault: Fault, byPhone: Bool = false) {
    let refusal: RelayRefusal
    switch fault {
    case .malformed(let reason): refusal = .malformed(reason: reason)
    case .tooLong: refusal = .answerTooLarge(limit: numbers.maxAnswerBytes)
    case .noRoom: refusal = .tooManyWaiting(retryAfter: busy)
    }
    settle(number, .refused(refusal), byPhone: byPhone)
  }

  /// Adds a part of an answer; the last one makes it whole.
  mutating func add(_ part: HealthPart, to number: UInt64) -> Result<Void, Fault> {
    guard let place = place(of: number) else { return .success(()) }
    let call = calls[place]
    if part.kind != call.question.kind {
      return .failure(.malformed("it answers another question"))
    }
    if part.index < call.pieces { return .success(()) }
    let text = call.text + part.text
    if text.utf8.count > numbers.maxAnswerBytes { return .failure(.tooLong) }
    let held = calls.reduce(part.text.utf8.count) { $0 + $1.text.utf8.count }
    if held > numbers.maxGatheredBytes { return .failure(.noRoom) }
    if part.index > call.pieces || part.count != call.wanted ?? part.count {
      return .failure(.malformed("index is out of bounds"))
    }
    guard part.index + 1 == part.count else {
      (calls[place].text, calls[place].pieces, calls[place].wanted) =
        (text, call.pieces + 1, part.count)
      return .success(())
    }
    // Another answer may follow one that cannot be read.
    (calls[place].text, calls[place].pieces, calls[place].wanted) = ("", 0, nil)
    do {
      let whole = try HealthObject(reading: Array(text.utf8))
      if let fault = RelayHouseShape.fault(whole.bytes, part.kind) {
        return .failure(.malformed(fault))
      }
      settle(number, .data(whole), byPhone: true)
      return .success(())
    } catch {
      return .failure(.malformed(error.description))
    }
  }
}
