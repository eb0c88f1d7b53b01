import HoldfastCore
import HoldfastHealth
import HoldfastTestKit

@testable import HoldfastRelayData

// These functions draw random messages and bodies of the relay.
extension RandomSource {
  mutating func requestID() -> RelayRequestID { RelaySample.requestID(id()) }

  private mutating func question() -> HealthQuestion {
    switch Int.random(in: 0...4, using: &self) {
    case 0, 1: .healthData(healthQuery())
    case 2, 3: .summary(summaryQuery())
    case _: .types
    }
  }

  mutating func backendMessage() -> BackendMessage {
    switch Int.random(in: 0...3, using: &self) {
    case 0:
      .connectionCode(
        ConnectionCode(
          code: id(), word: id(), message: text(upTo: 4),
          expiresIn: maybe { .seconds($0.one([0, 600, 31_536_000])) },
          resumeToken: maybe { $0.id() }, resumed: flag(), acceptsParts: flag(),
          newAssistants: flag() ? [] : pairedAssistants().assistants))
    case 1: .question(requestID(), question())
    case 2: .cancel(requestID())
    case _: .unknown(type: id(), id: maybe { $0.requestID() })
    }
  }

  private mutating func healthObject() -> HealthObject {
    if flag() { return .failure(text(upTo: 4)) }
    let success = flag()
    let text = JSONTree.object([
      "success": .bool(success), "count": .int(1), "x": .string(text(upTo: 4)),
    ]).spelled(by: &self, isExtended: false)
    return HealthObject(succeeded: success, bytes: Array(text.utf8))
  }

  mutating func phoneMessage(isAnonymous: Bool = true) -> PhoneMessage {
    let id = requestID()
    switch Int.random(in: 0...5, using: &self) {
    case 0: return .healthData(id, healthObject())
    case 1: return .summary(id, healthObject())
    case 5: return .types(id, healthObject())
    case 2:
      let count = one([1, 2, HealthPart.maxObjectBytes])
      return .part(
        id,
        HealthPart(
          kind: one(HealthQuestion.Kind.allCases), index: one([0, count - 1]), count: count,
          text: self.id()))
    case 3: return .failure(isAnonymous && flag() ? nil : id, reason: text(upTo: 4))
    case _: return .unknown(type: self.id(), id: isAnonymous && flag() ? nil : id)
    }
  }

  mutating func leasedQuestions() -> LeasedQuestions {
    LeasedQuestions(
      questions: few {
        LeasedQuestion(id: $0.requestID(), question: $0.question(), lease: $0.id())
      }, expiresIn: .seconds(one([0, 25, 86_400])))
  }

  mutating func pairedAssistants() -> PairedAssistants {
    PairedAssistants(
      limit: one([1, 8, 1_000_000]),
      assistants: few { generator in
        PairedAssistants.Assistant(
          id: generator.id(),
          name: AssistantName(generator.text(upTo: 3), version: generator.text(upTo: 2)),
          since: generator.maybe { $0.timestamp() },
          lastQuestion: generator.maybe { $0.timestamp() },
          expiresAt: generator.timestamp(), readsSynced: generator.flag())
      }, syncedUser: maybe { $0.id() })
  }

  mutating func pushAddress() -> PushAddress {
    let token = String(repeating: one(["0f", "a9"]), count: one([1, 32, 100]))
    let apns = APNsAddress(
      token: token, topic: maybe { $0.one(["a", "example.App-1"]) },
      environment: one(APNsAddress.Environment.allCases))
    guard let apns, flag() else { return .hook(one(["w", "a \"b\" é", "https://a/b?c"])) }
    return .apns(apns)
  }
}
