@testable import BottleFirmware
@testable import BottleLink
@testable import HealthRelay
@testable import HealthSync
@testable import HeldSocket
@testable import LinkCore
import LinkWire
@testable import MessageStream
@testable import Session
import Testing

/// Injected faults of the machines of a client, each found as the property that it breaks.
@Suite struct ClientFaultTests {
  @Test func `faults of a link are found`() {
    typealias Inputs = RandomInputs<LinkInputs>
    Inputs.expectFound("asks only once for open") { _, _, effects in
      effects += effects.filter { if case .open = $0 { true } else { false } }
    }
    Inputs.expectFound("each change of status is told, and nothing else") { _, _, effects in
      effects.removeAll { if case .status = $0 { true } else { false } }
    }
    Inputs.expectFound("connections stay inside every window of the policy") { link, _, _ in
      link.retry = Retry(link.policy.retry)
    }
    Inputs.expectFound("invariant: link: it is idle exactly while it is not wanted") { link, _, _ in
      if case .waiting = link.state { link.gate.wish = .none }
    }
  }

  @Test func `faults of a held socket are found`() {
    typealias Inputs = RandomInputs<SocketInputs>
    Inputs.expectFound("a message that was accepted waits, has arrived or is reported") {
      socket, input, _ in
      if case .link(.lost)? = input { socket.queue = ProvenQueue() }
    }
    Inputs.expectFound("what is removed from the store has arrived") { socket, input, effects in
      if case .stored(let id)? = input, socket.queue.handed > 0 { effects.append(.remove([id])) }
    }
  }

  @Test func `faults of a message stream are found`() {
    typealias Inputs = RandomInputs<StreamInputs>
    Inputs.expectFound("a message is shown only after the store has it") { _, input, effects in
      if case .frame(_, .message(let message))? = input {
        effects = [.update(.messages([message], via: .live))]
      }
    }
    Inputs.expectFound("each message is shown once") { _, _, effects in
      for case .update(.messages(let messages, let via)) in effects {
        effects.append(.update(.messages(messages, via: via)))
      }
    }
    Inputs.expectFound("an entry waits until it went out or was discarded") { stream, input, _ in
      if case .postFailed(let id, _, _)? = input { stream.outbox.remove(id) }
    }
  }

  @Test func `faults of a phone of the relay are found`() {
    typealias Inputs = RandomInputs<PhoneRelayInputs>
    Inputs.expectFound("a question leaves the line only with a receipt") { relay, input, _ in
      if case .prepared? = input { relay.line.items = [] }
    }
    Inputs.expectFound("what is held belongs to a question in line") { _, _, effects in
      effects.removeAll { if case .discard = $0 { true } else { false } }
    }
  }

  @Test func `faults of a pull are found`() {
    typealias Inputs = RandomInputs<PullInputs>
    Inputs.expectFound("each question that was leased is counted once") { pull, input, _ in
      if case .posted? = input { pull.report.left += 1 }
    }
    Inputs.expectFound("an exchange ends within the budget and its own limit") { pull, _, _ in
      pull.end = pull.end.advanced(by: .seconds(-1))
    }
  }

  @Test func `faults of a client of sessions are found`() {
    typealias Inputs = RandomInputs<PhoneSessionInputs>
    Inputs.expectFound("a message is acknowledged only after it was stored") {
      session, input, effects in
      if case .frame(let attempt, .replay(let id, _, _), _, _)? = input,
        attempt == session.link.currentAttempt, session.isConnected
      {
        effects.append(.send(attempt, .messageAck(id)))
      }
    }
    Inputs.expectFound("a prompt is kept until it ended or the user gave it up") {
      session, input, _ in
      if case .link(.lost, _)? = input {
        session.queue = SendQueue(limit: 1_000)
        session.talk = nil
      }
    }
  }

  @Test func `faults of a sync are found`() {
    typealias Inputs = RandomInputs<PhoneSyncInputs>
    Inputs.expectFound("granted time is given back or waits for what it was granted for") {
      _, _, effects in
      effects.removeAll { if case .giveBack = $0 { true } else { false } }
    }
    Inputs.expectFound("a file is uploaded by one upload at a time") { _, _, effects in
      for case .upload(let all) in effects { effects.append(.upload(all)) }
    }
  }

  @Test func `faults of the link to a bottle are found`() {
    typealias Inputs = RandomInputs<BottleLinkInputs>
    Inputs.expectFound("each request is answered or waits") { bottle, input, _ in
      if case .refresh? = input { bottle.requests.entries = [] }
    }
    Inputs.expectFound("nothing is outstanding with the system after a stop") { _, _, effects in
      effects.removeAll { if case .cancel = $0 { true } else { false } }
    }
  }

  @Test func `faults of the firmware of a bottle are found`() {
    typealias Inputs = RandomInputs<FirmwareInputs>
    Inputs.expectFound("what changes in the flash is persisted") { _, _, effects in
      effects.removeAll { $0 == .persist }
    }
    Inputs.expectFound("it tells when it begins and stops to advertise") { _, _, effects in
      effects.removeAll { $0 == .stopAdvertising }
    }
  }
}
