import HoldfastCore
import HoldfastSessionData

// The stored state, after a start.
extension SessionServer {
  /// Restores the stored state before any other input.
  ///
  /// A prompt that was started but has no answer was interrupted. It is answered as interrupted and
  /// does not run again. A prompt that was accepted but not started runs now.
  mutating func restore(_ stored: StoredSessions) {
    for client in stored.clients.values { clients[client.id] = SessionClient(stored: client) }
    for (id, conversation) in stored.conversations {
      conversations.restore(id, conversation, at: wall)
    }
    let all = stored.prompts.sorted { $0.key < $1.key }.map(\.value)
    prompts.restore(lastNumber: all.last?.id.number ?? 0)
    let open = all.filter { !$0.isOver }
    for prompt in open {
      restore(prompt, prompt.stage == .started ? .running : .waiting)
    }
    let over = all.filter(\.isOver).sorted { ($0.endedAt, $0.id) < ($1.endedAt, $1.id) }
    for prompt in over { restore(ended: prompt) }
    for prompt in open where prompt.stage == .started {
      finish(prompt.id, .failure(error: Self.interrupted))
    }
    for prompt in open { advance(prompt.prompt.conversation) }
    forgetExcess()
    forgetOld()
    for id in conversations.ids { shorten(id) }
  }

  private mutating func restore(_ stored: StoredSessionPrompt, _ stage: SessionTurn.Stage) {
    addIfUnknown(stored.client)
    enter(
      SessionTurn(
        id: stored.id, client: stored.client, prompt: stored.prompt, at: stored.at, stage: stage))
  }

  private mutating func restore(ended stored: StoredSessionPrompt) {
    guard case .ended(let answer) = stored.stage else { return }
    addIfUnknown(stored.client)
    prompts.add(
      SessionTurn(
        id: stored.id, client: stored.client, prompt: stored.prompt, at: stored.at,
        stage: .ended(answer)))
    let last = clients[stored.client]?.stored.lastNumber ?? 0
    clients[stored.client]?.stored.lastNumber = max(last, answer.number)
    retainForClient(stored.id)
  }

  /// Adds a client of which only prompts are stored.
  private mutating func addIfUnknown(_ client: String) {
    guard clients[client] == nil else { return }
    clients[client] = SessionClient(stored: StoredSessionClient(id: client, seenAt: wall))
  }
}
