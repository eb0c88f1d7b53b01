// A stand-in for Apple's module HealthKit that runs on Linux: queries and the store.
import Foundation
import Synchronization

public struct HKQueryOptions: OptionSet, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }
  public static let strictStartDate = HKQueryOptions(rawValue: 1 << 0)
  public static let strictEndDate = HKQueryOptions(rawValue: 1 << 1)
}

public class HKQuery: NSObject, @unchecked Sendable {
  /// Without options, the predicate holds for samples that overlap the span.
  public class func predicateForSamples(
    withStart startDate: Date?, end endDate: Date?, options: HKQueryOptions = []
  ) -> NSPredicate {
    let (start, end) = (startDate ?? .distantPast, endDate ?? .distantFuture)
    return NSPredicate { sample, _ in
      guard let sample = sample as? HKSample else { return false }
      let first = options.contains(.strictStartDate) ? sample.startDate : sample.endDate
      let last = options.contains(.strictEndDate) ? sample.endDate : sample.startDate
      return first >= start && last < end
    }
  }
}

public typealias HKObserverQueryCompletionHandler = () -> Void

public class HKObserverQuery: HKQuery, @unchecked Sendable {
  let type: HKSampleType
  let handler:
    @Sendable (HKObserverQuery, @escaping HKObserverQueryCompletionHandler, (any Error)?) -> Void

  public init(
    sampleType: HKSampleType, predicate: NSPredicate?,
    updateHandler:
      @escaping @Sendable (
        HKObserverQuery, @escaping HKObserverQueryCompletionHandler, (any Error)?
      ) -> Void
  ) { (type, handler) = (sampleType, updateHandler) }
}

public class HKAnchoredObjectQuery: HKQuery, @unchecked Sendable {
  typealias Handler =
    @Sendable (
      HKAnchoredObjectQuery, [HKSample]?, [HKDeletedObject]?, HKQueryAnchor?, (any Error)?
    ) -> Void
  let type: HKSampleType
  let filter: NSPredicate?
  let anchor: HKQueryAnchor?
  let limit: Int
  let handler: Handler

  public init(
    type: HKSampleType, predicate: NSPredicate?, anchor: HKQueryAnchor?, limit: Int,
    resultsHandler handler:
      @escaping @Sendable (
        HKAnchoredObjectQuery, [HKSample]?, [HKDeletedObject]?, HKQueryAnchor?, (any Error)?
      ) -> Void
  ) {
    (self.type, filter, self.anchor) = (type, predicate, anchor)
    (self.limit, self.handler) = (limit, handler)
  }
}

public class HKSampleQuery: HKQuery, @unchecked Sendable {
  let type: HKSampleType
  let filter: NSPredicate?
  let limit: Int
  let order: [NSSortDescriptor]
  let handler: @Sendable (HKSampleQuery, [HKSample]?, (any Error)?) -> Void

  public init(
    sampleType: HKSampleType, predicate: NSPredicate?, limit: Int,
    sortDescriptors: [NSSortDescriptor]?,
    resultsHandler: @escaping @Sendable (HKSampleQuery, [HKSample]?, (any Error)?) -> Void
  ) {
    (type, filter, self.limit) = (sampleType, predicate, limit)
    (order, handler) = (sortDescriptors ?? [], resultsHandler)
  }
}

public class HKSourceQuery: HKQuery, @unchecked Sendable {
  let type: HKSampleType
  let handler: @Sendable (HKSourceQuery, Set<HKSource>?, (any Error)?) -> Void

  public init(
    sampleType: HKSampleType, samplePredicate objectPredicate: NSPredicate?,
    completionHandler: @escaping @Sendable (HKSourceQuery, Set<HKSource>?, (any Error)?) -> Void
  ) { (type, handler) = (sampleType, completionHandler) }
}

public class HKHealthStore: NSObject, @unchecked Sendable {
  private let script: ScriptedHealth

  public override init() { script = ScriptedHealth() }

  @_spi(Script) public init(_ script: ScriptedHealth) { self.script = script }

  public class func isHealthDataAvailable() -> Bool { ScriptedHealth.isAvailable }

  public func requestAuthorization(
    toShare typesToShare: Set<HKSampleType>?, read typesToRead: Set<HKObjectType>?,
    completion: @escaping @Sendable (Bool, (any Error)?) -> Void
  ) {
    let read = (typesToRead ?? []).map(\.identifier)
    if read.isEmpty, (typesToShare ?? []).isEmpty {
      script.note("permission was requested for no type")
    }
    let error = script.ask(read)
    script.call { completion(error == nil, error) }
  }

  public func enableBackgroundDelivery(
    for type: HKObjectType, frequency: HKUpdateFrequency,
    withCompletion completion: @escaping @Sendable (Bool, (any Error)?) -> Void
  ) {
    let error = script.deliver(type.identifier, frequency)
    script.call { completion(error == nil, error) }
  }

  public func disableBackgroundDelivery(
    for type: HKObjectType,
    withCompletion completion: @escaping @Sendable (Bool, (any Error)?) -> Void
  ) {
    let error = script.deliver(type.identifier, nil)
    script.call { completion(error == nil, error) }
  }

  public func execute(_ query: HKQuery) {
    guard script.begin(query) else { return script.note("a query was executed twice") }
    switch query {
    case let query as HKObserverQuery: script.observe(query)
    case let query as HKAnchoredObjectQuery: script.answer(query)
    case let query as HKSampleQuery: script.answer(query)
    case let query as HKSourceQuery: script.answer(query)
    default: script.note("the stand-in has no such query")
    }
  }

  public func stop(_ query: HKQuery) { script.stop(query) }
}
