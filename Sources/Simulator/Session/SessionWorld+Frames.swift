import LinkCore
import LinkJSON
import LinkServerCore
import LinkWire
import Session

// Frames: what one end wrote as bytes, the other end reads. Both must mean the same.
extension SessionWorld {
  /// Bytes of a client are at the server.
  ///
  /// - Parameter sent: The message that they were written from; `nil` if they are none.
  mutating func hear(_ bytes: [UInt8], _ sent: SessionClientMessage?, from id: ConnectionID) {
    let message: SessionClientMessage
    do { message = try SessionClientMessage.read(bytes) } catch {
      if let sent { note(.broken(.misread, detail: "\(sent) cannot be read: \(error)")) }
      return feed(.unreadable(id, detail: "\(error)", field: error.field))
    }
    if let sent, sent != message {
      note(.broken(.misread, detail: "a \(sent.kind) was read as another \(message.kind)"))
    }
    feed(.said(id, message, proof: proof(in: message, id), wall: wall(server)))
  }

  /// Compares what was read with what was written.
  mutating func compare(_ message: SessionServerMessage, _ sent: SessionServerMessage?) {
    if let sent, sent != message {
      note(.broken(.misread, detail: "a message of the server was read as another one"))
    }
  }

  private mutating func proof(
    in message: SessionClientMessage, _ id: ConnectionID
  ) -> SessionServer.Proof {
    guard case .connect(let connect) = message else { return .none }
    let challenge = backend.rules.challenge(of: id)
    if let key = connect.key {
      if challenge != nil, kernel.plan.numbers.plain == 0, backend.guests[id] == nil,
        key.text == Self.key
      {
        note(.broken(.leaked, detail: "the key was sent although a challenge was there"))
      }
      return key.text == Self.key ? .key : .none
    }
    guard let challenge, let proof = connect.proof else { return .none }
    return proof.text == connect.expectedProof(of: challenge) ? .challenge : .none
  }
}

extension SessionConnect {
  /// What stands for the signature of a challenge: the text that is signed, written down a second
  /// time.
  fileprivate func expectedProof(of challenge: String) -> String {
    guard features.contains(.boundProof) else { return challenge }
    var text = String(repeating: " ", count: 128)
    let milliseconds = timestamp.map { $0.nanoseconds / 1_000_000 }
    for part in [challenge, session, version ?? "", milliseconds.map { "\($0)" } ?? ""] {
      text += String(part.utf8.count) + ":" + part + ","
    }
    return text
  }
}

extension SessionClientMessage {
  /// Its kind, for findings.
  fileprivate var kind: String {
    switch self {
    case .connect: "connect"
    case .ping: "ping"
    case .messageAck: "acknowledgement"
    case .prompt: "prompt"
    case .subscribe, .subscribeBatch: "subscription"
    case .unsubscribe: "end of a subscription"
    case .setMaxMessageSize: "size"
    case .killSession: "cancellation"
    case .disconnect: "farewell"
    case .unknown: "message of no known type"
    }
  }
}
