public import HoldfastCore
import HoldfastHealth
public import HoldfastHealthSamples

/// The samples that phones have synced, as a value.
///
/// A sample is identified by its hash. Equal samples are stored once, so a sample may have several
/// UUIDs. It is removed when the last of them is deleted. Deleted UUIDs stay stored, so that a
/// batch older than the deletion does not restore the sample. A deletion does not remove a sample
/// if a newer batch contains its UUID. Batches may therefore arrive late and repeatedly.
/// `SyncStamps` determines their age.
public struct StoredSync: Sendable, Hashable {
  /// The generation of the stored samples. Another epoch may lack samples of this epoch.
  public private(set) var epoch: String
  private var samplesByUser: [String: UserSamples] = [:]

  /// Creates an empty value.
  public init(epoch: String = "memory") { self.epoch = epoch }

  /// Starts another epoch with the same samples, after an earlier state was restored.
  package mutating func begin(epoch: String) { self.epoch = epoch }

  /// Returns the newest timestamp of a batch from a phone.
  public func newestStamp(of user: String, device: String) -> Timestamp? {
    samplesByUser[user]?.stamps.newest(of: device)
  }

  /// Returns the time of a user's newest batch, bounded by the time of its arrival.
  public func lastSync(of user: String) -> Timestamp? { samplesByUser[user]?.stamps.latest }

  /// Applies the deletions and then the samples of a batch.
  public mutating func apply(_ delivery: SyncDelivery) -> IngestCounts {
    samplesByUser[delivery.user, default: UserSamples()].apply(delivery)
  }

  /// Returns one page of the samples that overlap a time span.
  public func samples(_ query: HealthSampleQuery, of user: String) -> HealthSamplePage {
    query.page { type, after, limit in
      let positions = samplesByUser[user]?.positions(of: type) ?? []
      let found = positions.lazy.filter { position in
        after.map {
          $0.start < position.start
            || ($0.start == position.start && $0.key < position.key)
        } ?? true
      }
      .compactMap { position in
        samplesByUser[user]?.samples[position]?.sample.sample.map { (position, $0) }
      }
      .filter { query.covers(start: $0.1.start, end: $0.1.end) }
      return found.prefix(limit).map { (key: $0.0.key, sample: $0.1) }
    }
  }

  /// Returns a summary of each type of a user, ordered by identifier.
  public func summary(of user: String) -> [HealthTypeSummary] {
    let samples = samplesByUser[user]?.samples.values.map(\.sample) ?? []
    return Dictionary(grouping: samples, by: \.type).compactMap { type, samples in
      let starts = samples.map(\.start)
      guard let first = starts.min(), let last = starts.max() else { return nil }
      return HealthTypeSummary(
        type: type, count: samples.count, first: first, last: last,
        sources: Set(samples.map(\.source)).sorted())
    }.sorted { $0.type < $1.type }
  }

  /// Erases everything about a user. Returns the number of samples and identifiers.
  public mutating func erase(_ user: String) -> Int {
    guard let erased = samplesByUser.removeValue(forKey: user) else { return 0 }
    return max(1, erased.samples.count + erased.identities.count)
  }

  /// Returns the positions of all samples of a user.
  package func positions(of user: String) -> Set<HealthSamplePosition> {
    samplesByUser[user].map { Set($0.samples.keys) } ?? []
  }

  /// Returns records of a type as they were sent, ordered by start. They begin after a position, or
  /// with the first record.
  public func raw(
    _ type: String, after: HealthSamplePosition?, limit: Int, of user: String
  ) -> [SyncRaw] {
    let positions = samplesByUser[user]?.positions(of: type) ?? []
    return positions.lazy.filter { position in
      after.map { ($0.start, $0.key) < (position.start, position.key) } ?? true
    }.prefix(max(1, limit)).compactMap { position in
      samplesByUser[user]?.samples[position].map {
        SyncRaw(position: position, bytes: Array($0.sample.raw))
      }
    }
  }
}

/// The samples of one user, or those of them that a batch concerns.
package struct UserSamples: Sendable, Hashable {
  /// A stored sample with the number of its UUIDs.
  package struct Entry: Sendable, Hashable {
    package var sample: SyncSample
    package var uuids: Int

    package init(sample: SyncSample, uuids: Int) { (self.sample, self.uuids) = (sample, uuids) }
  }

  /// The state of a UUID.
  package enum Identity: Sendable, Hashable {
    /// The UUID belongs to a sample in a batch of this time. If the batch had no time, this is the
    /// earliest possible time.
    case sample(HealthSamplePosition, named: Timestamp)
    /// The UUID was deleted by a batch of this time. If the batch had no time, this is the earliest
    /// possible time.
    case deleted(Timestamp)
  }

  package var samples: [HealthSamplePosition: Entry] = [:]
  package var identities: [UUID128: Identity] = [:]
  fileprivate var stamps = SyncStamps()

  package init() {}

  fileprivate func positions(of type: String) -> [HealthSamplePosition] {
    samples.keys.filter { $0.type == type }.sorted { ($0.start, $0.key) < ($1.start, $1.key) }
  }

  fileprivate mutating func apply(_ delivery: SyncDelivery) -> IngestCounts {
    let made = delivery.made.map {
      stamps.note($0, of: delivery.device, arrived: delivery.arrived)
    }
    return apply(delivery, made: made)
  }

  /// Applies a batch whose effective time is known. It needs all samples and UUIDs that the batch
  /// names, and the samples of these UUIDs, but no others.
  package mutating func apply(_ delivery: SyncDelivery, made: Timestamp?) -> IngestCounts {
    for uuid in delivery.deleted { delete(uuid, made: made) }
    var counts = IngestCounts()
    for sample in delivery.samples { counts.count(sample, add(sample, made: made)) }
    return counts
  }

  private mutating func delete(_ uuid: UUID128, made: Timestamp?) {
    let time = made ?? Timestamp(nanoseconds: .min)
    switch identities[uuid] {
    case .sample(let position, let named)?:
      if let made, made < named { return }
      release(position)
      identities[uuid] = .deleted(max(named, time))
    case .deleted(let before)?: identities[uuid] = .deleted(max(before, time))
    case nil: identities[uuid] = .deleted(time)
    }
  }

  private mutating func release(_ position: HealthSamplePosition) {
    samples[position]?.uuids -= 1
    if let uuids = samples[position]?.uuids, uuids <= 0 { samples[position] = nil }
  }

  private mutating func add(_ sample: SyncSample, made: Timestamp?) -> SyncAddition {
    let position = sample.position
    let isNew = samples[position] == nil
    let refusal: SyncAddition = isNew ? .refused : .known
    var time = made ?? Timestamp(nanoseconds: .min)
    var former: HealthSamplePosition?
    if let uuid = sample.uuid {
      switch identities[uuid] {
      case .deleted(let deleted)?: if let made, made < deleted { return refusal }
      case .sample(let other, let named)?:
        if let made, made < named { return refusal }
        time = max(named, time)
        former = other
      case nil: break
      }
    }
    if isNew {
      var stored = sample
      stored.uuid = nil
      samples[position] = Entry(sample: stored, uuids: 0)
    }
    if let uuid = sample.uuid {
      samples[position]?.uuids += 1
      identities[uuid] = .sample(position, named: time)
    }
    if let former { release(former) }
    return isNew ? .new : .known
  }
}

/// The result of adding a sample of a batch.
package enum SyncAddition: Sendable, Hashable {
  case new
  /// The sample was already stored.
  case known
  /// A newer batch deleted the sample or assigned its UUID to another sample.
  case refused
}

extension IngestCounts {
  /// Counts the result of adding a sample.
  package mutating func count(_ sample: SyncSample, _ addition: SyncAddition) {
    switch addition {
    case .new: if case .workout = sample.value { workouts += 1 } else { records += 1 }
    case .known: skippedDuplicates += 1
    case .refused: refused += 1
    }
  }
}
