import HoldfastCore
import HoldfastHealth
import HoldfastHealthSamples
import HoldfastMessageData
import HoldfastRelayData
import HoldfastSessionData
import HoldfastSyncData
import HoldfastTestKit
import HoldfastUploads

// These functions draw random stored values and changes to them. Names are drawn from a small set
// so that they repeat.
extension RandomSource {
  private mutating func uuid() -> UUID128 { UUID128(high: 0, low: one([1, 2, .max])) }

  private mutating func state() -> SendState {
    flag() ? .queued(tries: one([0, 3])) : .failed(reason: text(upTo: 2))
  }

  private mutating func news() -> SessionNews {
    let (id, via) = (id(), one(SessionVia.allCases))
    let entry = entry(id, position: maybe { $0.number() })
    let ending = SessionEnding(
      key: uuid(), conversation: id, text: text(upTo: 2),
      outcome: one(SessionEnding.Outcome.allCases), reason: maybe { $0.text(upTo: 2) },
      message: maybe { $0.one(["m", "n"]) })
    return one([.message(entry, via: via), .ended(ending)])
  }

  mutating func clientSessionChange() -> ClientSessionChange {
    var change = ClientSessionChange()
    change.prompts = few {
      StoredPrompt(
        id: $0.uuid(), conversation: $0.id(), text: $0.text(upTo: 4), number: $0.number(),
        createdAt: $0.timestamp(), state: $0.state(), isAccepted: $0.flag(),
        floor: $0.maybe { $0.number() }, isSeen: $0.flag())
    }
    (change.forgotten, change.rolledBack) = (few { $0.uuid() }, few { $0.uuid() })
    change.news = few { $0.news() }
    change.conversations = few {
      KnownConversation(
        id: $0.id(), openedBy: $0.maybe { $0.uuid() }, sequence: $0.number(),
        offset: $0.number(), signature: $0.maybe { $0.text(upTo: 2) }, openTurns: $0.one([0, 2]),
        lastEnd: $0.maybe { $0.id() })
    }
    change.ends = few { $0.one(["m", "n"]) }
    (change.received, change.shown) = (maybe { $0.number() }, maybe { $0.number() })
    change.marked = few { $0.one([1, 2, 3, 5, .max]) }
    var day = SessionDay(day: one([-1, 0, 20_000]))
    (day.tries, day.reconnecting) = (one([0, 7]), .milliseconds(one([0, 1_500])))
    change.days = maybe { _ in [day] } ?? []
    return change
  }

  mutating func sessionChange() -> SessionChange {
    let name = one(["a", "b"])
    return one([
      .conversation(name, signature: id()), .entry(entry(name, position: maybe { $0.number() })),
      .conversation(name, signature: "s"), .prune(name, below: one([0, 7])),
      .endConversation(name), .client(StoredSessionClient(id: name, seenAt: timestamp())),
      .prompt(
        StoredSessionPrompt(
          id: SessionPromptID(1), client: name,
          prompt: SessionPrompt(
            text: text(upTo: 2), conversation: name, isNew: flag(), idempotencyKey: nil),
          at: timestamp(), stage: one([.accepted, .started]))),
    ])
  }

  private mutating func hash() -> TokenHash {
    // The array has 32 bytes.
    TokenHash([UInt8](repeating: 7, count: 31) + [one([0, 7, 255])])
      ?? { preconditionFailure("no hash of 32 bytes") }()
  }

  private mutating func requestID() -> RelayRequestID {
    // The text is within the bounds.
    RelayRequestID(one(["a", "b", "c"])) ?? { preconditionFailure("no request id") }()
  }

  mutating func relayChange() -> RelayChange {
    let (phone, hash) = (PhoneID(uuid()), hash())
    let id = requestID()
    return one([
      .phone(
        StoredPhone(
          id: phone, device: uuid(), resume: hash, push: maybe { $0.pushAddress() },
          leftAt: maybe { $0.timestamp() }, synced: maybe { SyncedUser($0.text(upTo: 2)) })),
      .endPhone(phone),
      .access(
        StoredAccess(
          token: hash, phone: phone, expiresAt: timestamp(),
          assistant: AssistantName(text(upTo: 2), version: maybe { $0.text(upTo: 2) }),
          since: maybe { $0.timestamp() }, lastAsked: maybe { $0.timestamp() },
          readsSynced: flag())),
      .endAccess(hash),
      .question(
        StoredQuestion(
          id: id, phone: phone, caller: hash, question: question(),
          deadline: timestamp())),
      .endQuestion(id),
      .session(
        StoredAssistantSession(
          id: hash, version: maybe { $0.text(upTo: 2) },
          client: AssistantName(text(upTo: 2), version: maybe { $0.text(upTo: 2) }),
          owner: maybe { $0.hash() }, bearer: maybe { $0.hash() }, elicitsURL: flag(),
          showsTokens: flag())),
      .endSession(hash),
    ])
  }

  mutating func syncStep() -> SyncQueueStep {
    let (file, type) = (one(["f", "g"]), one(["t", "u"]))
    return one([
      .ask([type]), .anchor(type: type, maybe { HealthAnchor([1, UInt8($0.number() & 0xFF)]) }),
      .add(
        QueuedBatch(
          file: file, type: type, position: number(), records: 1, deletions: 2, bytes: 3,
          quarantined: maybe { $0.text(upTo: 2) })),
      .accept(file: file, at: timestamp()), .remove(file: file),
      .quarantine(file: file, reason: maybe { $0.text(upTo: 2) }), .stamp(timestamp()),
      .earliest(type: type, timestamp()),
      .own(
        SyncOwner(
          server: one(["a", "b"]), user: maybe { $0.text(upTo: 2) },
          epoch: maybe { $0.text(upTo: 2) }), again: one([false, true])),
    ])
  }

  mutating func timelineChange() -> TimelineChange {
    TimelineChange(
      messages: few { $0.message() }, edits: few { $0.message() },
      deletions: few { generator in
        DeletedMessage(
          id: generator.uuid(),
          changed: generator.maybe { ShopPosition(epoch: "e", offset: $0.number()) })
      },
      covered: few { generator in
        CoveredRange(
          epoch: "e", start: generator.maybe { $0.message().key },
          end: generator.maybe { $0.message().key })
      },
      texts: few { AcceptedText(id: $0.uuid(), text: $0.text(upTo: 4)) },
      cursor: maybe { generator in
        ShopCursor(
          position: generator.maybe { ShopPosition(epoch: "e", offset: $0.number()) },
          time: generator.maybe { $0.timestamp() }, wholeAt: generator.maybe { $0.timestamp() },
          base: generator.maybe { ShopPosition(epoch: "e", offset: $0.number()) })
      },
      gaps: maybe { generator in
        generator.few { generator in
          ShopGap(after: generator.maybe { $0.message().key }, before: generator.message().key)
        }
      },
      outboxPut: few {
        OutboxEntry(
          id: $0.uuid(), shop: Sample.shop, text: $0.text(upTo: 4), parent: $0.maybe { $0.uuid() },
          createdAt: $0.timestamp(), state: $0.state(), action: $0.action(),
          image: $0.maybe { $0.image() })
      }, outboxRemove: few { $0.uuid() })
  }

  private mutating func action() -> OutboxEntry.Action {
    let id = uuid()
    return one([.post, .edit(id), .delete(id)])
  }

  private mutating func image() -> OutboxImage {
    OutboxImage(
      type: one(ImageType.allCases), size: one([0, 1, 5 << 20]), url: maybe { $0.id() },
      uploadedAt: maybe { $0.timestamp() })
  }

  mutating func timelineCommit() -> TimelineCommit {
    TimelineCommit(
      inserted: few { $0.uuid() }, edited: few { $0.uuid() }, deleted: few { $0.message().key },
      rewritten: few { $0.message() })
  }

  mutating func ticket() -> UploadTicket {
    UploadTicket(
      one([.tus, .draft(3), .draft(8)]), url: id(), size: one([0, 1, 1 << 40]), isGzip: flag(),
      sum: one([0, .max, next()]))
  }

  mutating func message() -> ShopMessage {
    ShopMessage(
      id: .random(using: &self), shop: Sample.shop, user: "u" + text(upTo: 5),
      username: maybe { $0.id() }, text: text(upTo: 60), createdAt: timestamp(),
      updatedAt: maybe { $0.timestamp() }, isEdited: flag(),
      parent: maybe { .random(using: &$0) },
      position: maybe { ShopPosition(epoch: "a-Z_9", offset: $0.number()) })
  }

  private mutating func entry(_ id: String, position: UInt64?) -> SessionEntry {
    SessionEntry(
      id: id, role: one(SessionRole.allCases), text: text(upTo: 9), conversation: self.id(),
      timestamp: maybe { $0.timestamp() }, position: position)
  }

  private mutating func pushAddress() -> PushAddress {
    let apns = APNsAddress(
      token: one(["0f", "a9"]), topic: maybe { $0.one(["a", "example.App-1"]) },
      environment: one(APNsAddress.Environment.allCases))
    guard let apns, flag() else { return .hook(one(["w", "a \"b\" é", "https://a/b?c"])) }
    return .apns(apns)
  }

  private mutating func healthTime() -> HealthTime {
    // This time is far enough from the limits for any offset.
    let time = Int64.random(in: -2_000_000_000...7_000_000_000, using: &self) * 1_000_000_000
    return flag()
      ? .local(CivilTime(nanoseconds: time + 500_000_000))
      : .instant(
        Timestamp(nanoseconds: time), minutesEast: maybe { Int.random(in: -840...840, using: &$0) })
  }

  private mutating func question() -> HealthQuestion {
    let (start, end, type) = (healthTime(), healthTime(), one(HealthValueType.allCases))
    let (grouping, statistic) = (
      maybe { $0.one(HealthGrouping.allCases) }, maybe { $0.one(HealthStatistic.allCases) }
    )
    let metrics = few { _ in
      SummaryMetric(valueType: type, groupBy: grouping, statistic: statistic)
    }
    let rejected = few {
      RejectedMetric(index: $0.one([0, 64]), valueType: $0.text(upTo: 2), reason: $0.text(upTo: 3))
    }
    let maxBytes = maybe { $0.one([2_000, 65_536]) }
    return one([
      .healthData(
        HealthDataQuery(
          valueType: type, start: start, end: end, groupBy: grouping, statistic: statistic,
          maxBytes: maxBytes)),
      .summary(
        SummaryQuery(
          start: start, end: end, metrics: metrics, rejected: rejected, maxBytes: maxBytes)),
    ])
  }
}
