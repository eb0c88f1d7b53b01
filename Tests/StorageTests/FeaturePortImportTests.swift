import HoldfastFeaturePorts
import Testing

/// A test with the names that a file with a store, a radio or a health source uses, and only its
/// import.
///
/// The test also checks that this code compiles.
@Suite struct FeaturePortImportTests {
  @Test func `an adapter's file can name each type in the signatures of the ports`() {
    // The last ones are types of the ports of the device.
    let types: [Any.Type] = [
      APNsAddress.self, AdapterState.self, Appended.self, AssistantName.self, AttemptID.self,
      BottleDrink.self, BottleRecord.self, CentralEvent.self, ClientSessionChange.self,
      ClientSessionSnapshot.self, ConsumerName.self, ConsumerStart.self, ConsumerState.self,
      CoverageInterval.self, DeletedMessage.self, DrinkChange.self, DrinkSnapshot.self,
      FileUpload.self, GATTID.self, HealthAddition.self, HealthAnchor.self, HealthBatch.self,
      HealthChangePage.self, HealthChangeQuery.self, HealthCount.self, HealthCoverage.self,
      HealthDataQuery.self, HealthFormat.self, HealthOptions.self, QuerySpan.self,
      HealthGrouping.self, HealthMarks.self, HealthName.self, HealthPageStart.self,
      HealthQuestion.self, HealthRow.self, HealthSample.self, HealthSampleKey.self,
      HealthSamplePage.self, HealthSamplePosition.self, HealthSampleQuery.self,
      HealthSampleValue.self, HealthSourceFailure.self, HealthSpan.self, HealthStatistic.self,
      HealthTime.self, HealthTypeSummary.self, HealthValueType.self, ImportReconciliation.self,
      IngestCounts.self, KeyedHealthSample.self, KnownBottle.self, KnownConversation.self,
      LogActor.self, LogDeletion.self, LogEdit.self, LogEntry.self, LogOutcome.self,
      LogRefusal.self, LogRequest.self, ShopDeletion.self, ShopEvent.self, MessageError.self,
      MessageID.self, NumberedSessionNews.self, OutboxEntry.self, Page.self, PageQuery.self,
      PeripheralID.self, PhoneID.self, PushAddress.self, PushOutcome.self, QueryError.self,
      QueuedBatch.self, RejectedMetric.self, RelayChange.self, RelayRequestID.self,
      RestoredPeripheral.self, SessionChange.self, SessionDay.self, SessionEnding.self,
      SessionEntry.self, SessionNews.self, SessionPrompt.self, SessionPromptID.self,
      SessionResponse.self, SessionRole.self, SessionVia.self, ShopCursor.self, ShopDelivery.self,
      ShopGap.self, ShopID.self, ShopMessage.self, ShopPosition.self, SourcePage.self,
      SourceSample.self, StoredAccess.self, StoredClientSession.self, StoredConversation.self,
      StoredDrinks.self, StoredHealth.self, StoredHealthSamples.self, StoredLog.self,
      StoredLogs.self, StoredPhone.self, StoredPrompt.self, StoredQuestion.self, StoredRelay.self,
      StoredAssistantSession.self, StoredSessionAnswer.self, StoredSessionClient.self,
      StoredSessionPrompt.self, StoredSessions.self, StoredSync.self, StoredSyncQueue.self,
      StoredTimeline.self, StoredTimelines.self, SummaryMetric.self, SummaryQuery.self,
      SyncBatch.self, SyncDelivery.self, SyncHash.self, SyncIdentity.self, SyncOwner.self,
      SyncQueueStep.self, SyncRaw.self, SyncReading.self, SyncRecord.self, SyncSample.self,
      SyncText.self, SyncTime.self, SyncWorkout.self, SyncedType.self, TimelineChange.self,
      TimelineCommit.self, TimelineKey.self, TimelineSnapshot.self, TokenHash.self, UUID128.self,
      UploadOutcome.self, WorkoutValue.self, ZoneRules.self, Instant.self, LinkFailure.self,
      StoreFailure.self, Timestamp.self,
    ]
    #expect(types.count == 146)
  }
}
