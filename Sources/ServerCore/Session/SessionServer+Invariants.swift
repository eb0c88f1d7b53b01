public import LinkCore
import LinkStorage
import LinkWire

// What always holds between the tables of the server of sessions.
extension SessionServer {
  /// Notes each invariant that does not hold now.
  public func check(_ check: inout InvariantCheck) {
    check.require(effects.isEmpty, "session server: nothing is asked for between two inputs")
    check.require(
      sockets.count <= policy.maxSockets && openCount <= policy.maxPrompts
        && ended.count <= policy.maxEnded, "session server: sockets and prompts are bounded")
    check.require(
      openBytes >= 0 && openBytes <= policy.maxPromptsBytes && endedBytes >= 0
        && endedBytes <= policy.maxEndedBytes, "session server: the bytes of prompts are bounded")
    check.require(
      running >= 0 && running <= policy.maxRunning, "session server: handlers are bounded")
    check.require(
      turns.count == openCount + ended.count && turnsByMessage.count == ended.count,
      "session server: a prompt is open or has ended")
    check.require(
      owed.isEmpty || alarms.rings(.store, by: .latest),
      "session server: what the store failed has an alarm")
    check.require(
      delayed.isEmpty || alarms.rings(.acks, by: .latest),
      "session server: what the store is to be told later has an alarm")
    check.require(
      addresses.count <= sockets.count,
      "session server: addresses are counted only while they have sockets")
    check.require(
      mode != .finished
        || (sockets.isEmpty && waits.isEmpty && owed.isEmpty && delayed.isEmpty),
      "session server: a drain ends when nothing is left to wait for")
    alarms.check(&check)
    rate.check(&check)
    guard check.isThorough else { return }
    checkTurns(&check)
    checkTalks(&check)
    checkClients(&check)
    checkSockets(&check)
  }

  private func checkTurns(_ check: inout InvariantCheck) {
    let open = turns.values.filter { $0.answer == nil }
    check.require(
      openBytes == open.reduce(0) { $0 + $1.size },
      "session server: the bytes are those of open prompts")
    check.require(
      endedBytes == ended.reduce(0) { $0 + (turns[$1]?.size ?? 0) },
      "session server: the bytes are those of ended prompts")
    check.require(
      running == open.count { $0.isUnderWay },
      "session server: a handler is counted while it is under way")
    check.require(
      open.allSatisfy { turn in
        switch turn.stage {
        case .running, .cancelling: alarms.rings(.turn(turn.id), by: .latest)
        case .accepting, .waiting, .starting, .finishing, .ended: true
        }
      }, "session server: a handler ends in time")
    check.require(
      turnsByKey.allSatisfy { key, ids in
        !ids.isEmpty && ids.allSatisfy { turns[$0]?.prompt.idempotencyKey == key }
      }, "session server: a key leads to its prompts")
    check.require(
      turnsByMessage.allSatisfy { turns[$1]?.answer?.message == $0 },
      "session server: a message leads to its prompt")
  }

  private func checkTalks(_ check: inout InvariantCheck) {
    check.require(
      talks.values.reduce(0) { $0 + $1.line.count } == openCount
        && talks.allSatisfy { id, talk in
          talk.line.allSatisfy { turns[$0]?.prompt.conversation == id }
        }, "session server: an open prompt is in the line of its conversation, once")
    check.require(
      talks.values.allSatisfy { talk in talk.line.count { turns[$0]?.isUnderWay ?? false } <= 1 },
      "session server: one prompt of a conversation is under way at a time")
    check.require(
      talks.values.allSatisfy { talk in
        talk.entries.count <= policy.entriesPerConversation
          && talk.line.count <= policy.promptsPerConversation
      }, "session server: what is kept of a conversation is bounded")
    check.require(
      talks.values.allSatisfy { talk in
        zip(talk.entries, talk.entries.dropFirst()).allSatisfy {
          ($0.place ?? 0) + 1 == $1.place
        } && talk.end <= talk.next
      }, "session server: the messages of a conversation have no hole")
    check.require(
      talks.values.allSatisfy { talk in
        !talk.entries.isEmpty || !talk.line.isEmpty || !talk.readers.isEmpty
      }, "session server: a conversation has a message, a prompt or a reader")
    check.require(
      historyBytes
        == talks.values.reduce(0) { $0 + $1.entries.reduce(0) { $0 + $1.size } },
      "session server: the bytes are those of the conversations")
    check.require(
      queue.count == Set(queue).count && talks.values.count { $0.isQueued } == queue.count
        && queue.allSatisfy { talks[$0]?.isQueued ?? false },
      "session server: a conversation waits for a handler once")
    check.require(
      queue.isEmpty || running >= policy.maxRunning || mode != .serving,
      "session server: no conversation waits while a handler is free")
  }

  private func checkClients(_ check: inout InvariantCheck) {
    check.require(
      clients.values.allSatisfy { client in
        client.outbox.count <= policy.answersPerClient
          && client.outboxBytes <= policy.answersBytesPerClient
      }, "session server: what waits for a client is bounded")
    check.require(
      clients.allSatisfy { id, client in
        client.outbox.allSatisfy {
          turns[$0]?.client == id && turns[$0]?.answer?.isTaken == false
        }
          && client.outboxBytes
            == client.outbox.reduce(0) { $0 + (turns[$1]?.answer?.size ?? 0) }
      }, "session server: what waits for a client was not acknowledged")
    check.require(
      clients.values.reduce(0) { $0 + $1.open } == openCount
        && clients.values.allSatisfy { $0.open >= 0 },
      "session server: an open prompt is of a client")
    check.require(
      clients.values.allSatisfy { client in
        client.outbox.allSatisfy {
          (turns[$0]?.answer?.number ?? 0) <= client.kept.lastNumber
        }
      }, "session server: no answer has a number that was not given")
  }

  private func checkSockets(_ check: inout InvariantCheck) {
    let counts = sockets.values.reduce(into: [String: Int]()) { $0[$1.address, default: 0] += 1 }
    check.require(
      counts == addresses, "session server: an address's count is that of its sockets")
    check.require(
      sockets.allSatisfy { id, socket in
        !socket.life.isOpen || alarms.rings(.beat(id), by: .latest)
      }, "session server: each open socket has a heartbeat")
    check.require(
      clients.allSatisfy { id, client in
        client.sockets.allSatisfy { sockets[$0]?.peer?.client == id }
      }
        && sockets.allSatisfy { id, socket in
          socket.peer.map { clients[$0.client]?.sockets.contains(id) ?? false } ?? true
        }, "session server: a connected socket is of its client")
    check.require(
      sockets.values.allSatisfy {
        // Replays, and a batch of 100 subscriptions that is taken below the bound.
        $0.lane.count <= policy.maxParcels + policy.answersPerClient + 100
      },
      "session server: what waits for a socket is bounded")
    check.require(
      sockets.values.allSatisfy { $0.lane.count == 0 || $0.lane.awaitsDrain },
      "session server: what waits for a socket waits for its drain")
    check.require(
      sockets.allSatisfy { id, socket in
        socket.subscriptions.keys.allSatisfy { talks[$0]?.readers.contains(id) ?? false }
      }
        && talks.allSatisfy { talk, kept in
          kept.readers.allSatisfy { sockets[$0]?.subscriptions[talk] != nil }
        }, "session server: a subscription is of its conversation")
  }
}

extension Instant {
  /// The end of time.
  fileprivate static var latest: Instant { Instant(nanoseconds: .max) }
}
