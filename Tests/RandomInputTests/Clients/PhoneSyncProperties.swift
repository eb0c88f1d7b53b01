@testable import HealthSync
import LinkCore
import LinkWire

/// What a sync was told and has asked for, from its inputs and effects alone.
struct SyncNotes {
  /// Uploads that have not ended.
  private(set) var uploading: Set<String> = []
  /// Files that the server has.
  private(set) var accepted: Set<String> = []
  private(set) var deleted: Set<String> = []
  /// Readings that have not ended, by their types.
  private(set) var reading: [SyncFetchID: String] = [:]

  /// The notes after the input of a step and before its effects.
  func told(by step: MachineStep<SyncModel>) -> SyncNotes {
    var notes = self
    switch step.input {
    case .restored(_, let running, _): notes.uploading.formUnion(running)
    case .uploaded(let file, let outcome, _):
      notes.uploading.remove(file)
      if outcome == .accepted { notes.accepted.insert(file) }
    case .fetched(let id, _), .notFetched(let id, _), .notWritten(let id, _):
      notes.reading[id] = nil
    case .ask, .fired, .committed, .notCommitted, .halved, .notHalved, .secret, .refreshed,
      .device, .conditions, .again, .stop, nil:
      break
    }
    return notes
  }

  mutating func note(_ step: MachineStep<SyncModel>) {
    self = told(by: step)
    uploading.formUnion(step.uploads)
    for effect in step.effects {
      switch effect {
      case .fetch(let id, let type, _, _, _): reading[id] = type
      case .delete(let files): deleted.formUnion(files)
      case .observe, .commit, .upload, .halve, .askSecret, .refresh, .giveBack, .update: continue
      }
    }
  }
}

extension MachineStep<SyncModel> {
  fileprivate var uploads: [String] {
    effects.flatMap { effect -> [String] in
      if case .upload(let all) = effect { all.map(\.file) } else { [] }
    }
  }

  fileprivate var givenBack: [WakeID] {
    effects.compactMap { if case .giveBack(let wake, _) = $0 { wake } else { nil } }
  }

  fileprivate var queueSteps: [SyncQueueStep] {
    effects.flatMap { effect -> [SyncQueueStep] in
      if case .commit(_, let steps) = effect { steps } else { [] }
    }
  }

  /// The types whose source is to be read.
  fileprivate var fetched: [String] {
    effects.compactMap { if case .fetch(_, let type, _, _, _) = $0 { type } else { nil } }
  }
}

// What a sync promises of each step.
extension PhoneSyncInputs {
  static let properties: [MachineProperty<PhoneSyncInputs>] = [
    MachineProperty("a file is uploaded by one upload at a time") { generator, step in
      let uploads = step.uploads
      return Set(uploads).count == uploads.count
        && generator.books.told(by: step).uploading.isDisjoint(with: uploads)
    },
    MachineProperty("a file that was deleted is not uploaded") { generator, step in
      generator.books.deleted.isDisjoint(with: step.uploads)
    },
    MachineProperty("only a batch that the server has is stored as accepted") { generator, step in
      let accepted = generator.books.told(by: step).accepted
      return step.queueSteps.allSatisfy { change in
        if case .accept(let file, _) = change { accepted.contains(file) } else { true }
      }
    },
    MachineProperty("granted time is given back or waits for what it was granted for") { _, step in
      var open = Set(step.before.wakes.keys)
      if case .fired(_, let wake, _)? = step.input { open.insert(wake) }
      return open.subtracting(step.givenBack) == Set(step.after.wakes.keys)
    },
    MachineProperty("granted time ends before it is over") { _, step in
      step.input != nil || step.after.wakes.values.allSatisfy { $0.until > step.now }
    },
    MachineProperty("a type is read once at a time") { generator, step in
      let types = step.fetched
      return Set(types).count == types.count
        && Set(generator.books.told(by: step).reading.values).isDisjoint(with: types)
    },
    MachineProperty("a sync that stopped reads and sends nothing") { _, step in
      !step.before.isStopped || (step.fetched.isEmpty && step.uploads.isEmpty)
    },
  ]
}
