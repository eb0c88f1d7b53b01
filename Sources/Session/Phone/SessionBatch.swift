public import HoldfastCore
import HoldfastSessionData

/// The ID of one change passed to the store.
public struct SessionCommitID: NumberedID {
  /// The number, counted from the start of the model.
  public let number: UInt64

  public init(_ number: UInt64) { self.number = number }
}

/// A change of the stored session, and the actions that follow once it is stored.
struct SessionBatch: CommitBatch {
  /// The change to store.
  var change = ClientSessionChange()
  /// The IDs of server messages to acknowledge.
  var acks: [String] = []
  /// The prompts that may be sent once the change is stored.
  var prompts: [UUID128] = []
  /// The prompts whose last change is stored only together with other changes. If such a change is
  /// lost, the server repeats the message that caused it.
  private var later: [StoredPrompt] = []

  var isEmpty: Bool { change.isEmpty && acks.isEmpty && prompts.isEmpty }

  /// Adds the prompts that are stored together with other changes.
  mutating func seal() {
    for prompt in later { put(prompt) }
  }

  /// Stores a prompt, replacing its earlier state.
  mutating func put(_ prompt: StoredPrompt) {
    later.removeAll { $0.id == prompt.id }
    change.prompts.removeAll { $0.id == prompt.id }
    change.prompts.append(prompt)
  }

  /// Stores a prompt together with the next change. The prompt alone does not cause a change to be
  /// stored.
  mutating func putLater(_ prompt: StoredPrompt) {
    later.removeAll { $0.id == prompt.id }
    later.append(prompt)
  }

  /// Stores a conversation, replacing its earlier state.
  mutating func put(_ conversation: KnownConversation) {
    change.conversations.removeAll { $0.id == conversation.id }
    change.conversations.append(conversation)
  }

  /// Removes a prompt from the store.
  mutating func forget(_ key: UUID128) {
    later.removeAll { $0.id == key }
    change.prompts.removeAll { $0.id == key }
    change.forgotten.append(key)
  }
}
