import HoldfastSessionData
import Testing

@testable import HoldfastBottleLink
@testable import HoldfastCore
@testable import HoldfastFirmware
@testable import HoldfastHealthRelay
@testable import HoldfastHealthSync
@testable import HoldfastHeldSocket
@testable import HoldfastMessageStream
@testable import HoldfastSession

/// Tests that each property of a client machine detects an injected fault.
@Suite struct ClientFaultTests {
  @Test func `injected faults of a link are detected`() {
    typealias Inputs = RandomInputs<LinkInputs>
    Inputs.expectFound("every status change is reported, and nothing else") { _, _, effects in
      effects.removeAll { if case .status = $0 { true } else { false } }
    }
    Inputs.expectFound("invariant: link: it is idle exactly while it is not wanted") { link, _, _ in
      if case .waiting = link.state { link.gate.intent = .none }
    }
  }

  @Test func `injected faults of a held socket are detected`() {
    RandomInputs<SocketInputs>.expectFound(
      "each standing message is sent once on each connection"
    ) { _, _, effects in
      effects.removeAll { if case .standing = $0 { true } else { false } }
    }
    RandomInputs<SocketInputs>.expectFound(
      "a message that was accepted waits, has arrived or is reported"
    ) { socket, input, _ in
      if case .link(.lost)? = input { socket.queue = ProvenQueue() }
    }
  }

  @Test func `an injected fault of a message stream is detected`() {
    RandomInputs<StreamInputs>.expectFound("each message is shown once") { _, _, effects in
      for case .update(.messages(let messages, let via)) in effects {
        effects.append(.update(.messages(messages, via: via)))
      }
    }
  }

  @Test func `an injected fault of a relay phone is detected`() {
    RandomInputs<PhoneRelayInputs>.expectFound("each held read belongs to a queued question") {
      _, _, effects in
      effects.removeAll { if case .discard = $0 { true } else { false } }
    }
  }

  @Test func `an injected fault of a pull is detected`() {
    RandomInputs<PullInputs>.expectFound("each question that was leased is counted once") {
      pull, input, _ in
      if case .posted? = input { pull.report.left += 1 }
    }
  }

  @Test func `an injected fault of a session client is detected`() {
    RandomInputs<PhoneSessionInputs>.expectFound(
      "a prompt stays queued until it has ended or was discarded"
    ) { session, input, _ in
      if case .link(.lost, _)? = input {
        for prompt in session.outbox.items { session.outbox.remove(prompt.id) }
        session.connection = nil
      }
    }
  }

  @Test func `an injected fault of a health sync is detected`() {
    RandomInputs<PhoneSyncInputs>.expectFound("a file is uploaded by one upload at a time") {
      _, _, effects in
      for case .upload(let all) in effects { effects.append(.upload(all)) }
    }
  }

  @Test func `an injected fault of a bottle link is detected`() {
    RandomInputs<BottleLinkInputs>.expectFound("only the present attempt is used") {
      _, _, effects in
      effects = effects.map { effect in
        guard case .write(_, let id, let attribute, let bytes) = effect else { return effect }
        return .write(AttemptID(0), id, attribute, bytes)
      }
    }
  }

  @Test func `an injected fault of the bottle firmware is detected`() {
    RandomInputs<FirmwareInputs>.expectFound("each change in the flash is persisted") {
      _, _, effects in
      effects.removeAll { $0 == .persist }
    }
  }
}
