import HoldfastCore
import HoldfastSessionData
import HoldfastTestKit

// These functions draw random messages of sessions that the contract permits each side to send.
extension RandomSource {
  mutating func clientMessage() -> SessionClientMessage {
    switch Int.random(in: 0...10, using: &self) {
    case 0: .connect(connect())
    case 1: .ping
    case 2: .messageAck(id())
    case 3:
      .prompt(
        SessionPrompt(
          text: text(upTo: 9), conversation: id(), isNew: flag(),
          idempotencyKey: maybe { $0.id() }, number: maybe { $0.number() },
          workingDirectory: maybe { $0.text(upTo: 3) }, provider: maybe { $0.text(upTo: 2) },
          systemPrompt: maybe { $0.text(upTo: 3) }))
    case 4: .subscribe(subscription())
    case 5: .subscribeBatch(few { $0.subscription() })
    case 6: .unsubscribe(conversation: id())
    case 7: .setMaxMessageSize(kilobytes: one([1, 2, 200, 16_383, 16_384]))
    case 8: .killSession(conversation: id())
    case 9: .disconnect(reason: text(upTo: 3))
    case _: .unknown(type: id())
    }
  }

  private mutating func connect() -> SessionConnect {
    SessionConnect(
      session: id(), key: maybe { Secret($0.text(upTo: 3)) },
      proof: maybe { Secret($0.text(upTo: 3)) }, timestamp: maybe { $0.timestamp() },
      version: maybe { $0.text(upTo: 3) }, recentSessionsLimit: maybe { $0.one([0, 5, 1_000]) },
      features: features(), received: maybe { $0.number() })
  }

  private mutating func features() -> Set<SessionFeature> {
    Set(SessionFeature.allCases.shuffled(using: &self).prefix(few { $0.next() }.count))
  }

  private mutating func subscription() -> SessionSubscription {
    SessionSubscription(
      conversation: id(),
      cursor: flag()
        ? .sequence(number()) : .offset(number(), signature: maybe { $0.text(upTo: 3) }))
  }

  mutating func serverMessage() -> SessionServerMessage {
    let key = id()
    switch Int.random(in: 0...15, using: &self) {
    case 0:
      return .hello(
        SessionHello(
          message: text(upTo: 4), version: maybe { $0.text(upTo: 2) },
          authVersion: maybe { $0.one([0, 1, 1_000_000]) },
          instructions: maybe { $0.text(upTo: 3) }, challenge: maybe { $0.id() },
          timestamp: maybe { $0.timestamp() }, features: features()))
    case 1:
      return .connected(
        SessionConnected(
          message: text(upTo: 4), session: id(), version: version(), features: features(),
          received: maybe { $0.number() }, isRecovered: maybe { $0.flag() }))
    case 2: return .pong
    case 3: return .ack(message: text(upTo: 3), idempotencyKey: maybe { $0.id() })
    case 4: return .response(response())
    case 5:
      return .responsePart(
        conversation: id(), idempotencyKey: key, index: Int(number()), text: text(upTo: 9))
    case 6: return .error(sessionError())
    case 7: return .authError(message: text(upTo: 3))
    case 8: return .replay(id: key, entry(key, position: nil), number: maybe { $0.number() })
    case 9: return .turnComplete(conversation: id(), isAborted: flag())
    case 10: return .history(history())
    case 11: return .historyBatch(few { $0.history() })
    case 12: return .heartbeat(maybe { $0.timestamp() })
    case 13:
      return .draining(
        message: text(upTo: 3), retryAfter: .milliseconds(one([0, 1, 86_400_000])),
        window: maybe { .milliseconds($0.one([0, 1_500, 86_400_000])) })
    case 14: return .sessionKilled(conversation: id())
    case _: return .unknown(type: key)
    }
  }

  private mutating func version() -> SessionVersion {
    SessionVersion(one([0, 1]), one([0, 4, 999_999]), one([0, 7]))
  }

  private mutating func response() -> SessionResponse {
    SessionResponse(
      id: maybe { $0.id() }, number: maybe { $0.number() }, conversation: maybe { $0.id() },
      idempotencyKey: maybe { $0.id() },
      result: flag() ? .success(text: text(upTo: 9)) : .failure(error: text(upTo: 3)),
      parts: maybe { Int($0.number()) })
  }

  private mutating func sessionError() -> SessionError {
    var error = SessionError(
      message: text(upTo: 3), code: maybe { $0.text(upTo: 2) }, conversation: maybe { $0.id() },
      idempotencyKey: maybe { $0.id() }, required: maybe { $0.version() })
    if flag() {
      (error.code, error.received) = (
        SessionError.unsupportedVersion, maybe { $0.text(upTo: 2) }
      )
    }
    return error
  }

  mutating func entry(_ id: String, position: UInt64?) -> SessionEntry {
    SessionEntry(
      id: id, role: one(SessionRole.allCases), text: text(upTo: 9), conversation: self.id(),
      timestamp: maybe { $0.timestamp() }, position: position)
  }

  private mutating func history() -> SessionHistory {
    let extent: SessionHistory.Extent =
      flag()
      ? .sequence(first: maybe { $0.number() }, last: maybe { $0.number() }, next: number())
      : .offset(next: number(), signature: text(upTo: 3), isReplaced: flag())
    let entries = few { generator in
      let (id, position) = (generator.id(), generator.maybe { $0.number() })
      return generator.entry(id, position: position)
    }
    let gap = maybe { generator in
      SessionHistory.Gap(
        requested: generator.number(), oldest: generator.number(),
        reason: generator.one(SessionHistory.Gap.Reason.allCases))
    }
    return SessionHistory(
      conversation: id(), entries: entries, extent: extent, isComplete: flag(), gap: gap)
  }
}
