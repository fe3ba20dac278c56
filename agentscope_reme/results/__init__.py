"""What the calls of `ReMe` return: always ``success``, ``answer`` and typed fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentscope_reme.late_names import late_names

if TYPE_CHECKING:
    from agentscope_reme.results.base import (
        Failure,
        Result,
    )
    from agentscope_reme.results.care import (
        DoctorResult,
        ExchangeResult,
        IndexResult,
        StatusResult,
    )
    from agentscope_reme.results.distilling import (
        AutoMemoryResult,
        AutoResourceResult,
        DreamResult,
        DreamUnit,
        Integration,
        ProactiveResult,
        RecordResult,
        ResourceCard,
        Topic,
    )
    from agentscope_reme.results.files import (
        ChangeResult,
        FileEntry,
        FrontMatterResult,
        ImageResult,
        ListResult,
        ReadResult,
        RememberResult,
        StatResult,
    )
    from agentscope_reme.results.journal import (
        ChangeRecord,
        DiffResult,
        ForgetResult,
        ForgottenPart,
        HistoryResult,
    )
    from agentscope_reme.results.searching import (
        BranchCounts,
        GraphNode,
        GraphResult,
        NodeHit,
        NodeSearchResult,
        RecallResult,
        SearchResult,
        TagsResult,
    )

__all__ = [
    "AutoMemoryResult",
    "AutoResourceResult",
    "BranchCounts",
    "ChangeRecord",
    "ChangeResult",
    "DiffResult",
    "DoctorResult",
    "DreamResult",
    "DreamUnit",
    "ExchangeResult",
    "Failure",
    "FileEntry",
    "ForgetResult",
    "ForgottenPart",
    "FrontMatterResult",
    "GraphNode",
    "GraphResult",
    "HistoryResult",
    "ImageResult",
    "IndexResult",
    "Integration",
    "ListResult",
    "NodeHit",
    "NodeSearchResult",
    "ProactiveResult",
    "ReadResult",
    "RecallResult",
    "RecordResult",
    "RememberResult",
    "ResourceCard",
    "Result",
    "SearchResult",
    "StatResult",
    "StatusResult",
    "TagsResult",
    "Topic",
]

# Late, so that who searches does not make the results of dreams.
__getattr__, __dir__ = late_names(
    __name__,
    {
        "base": "Failure Result",
        "care": "DoctorResult ExchangeResult IndexResult StatusResult",
        "distilling": (
            "AutoMemoryResult AutoResourceResult DreamResult DreamUnit Integration "
            "ProactiveResult RecordResult ResourceCard Topic"
        ),
        "files": (
            "ChangeResult FileEntry FrontMatterResult ImageResult ListResult ReadResult "
            "RememberResult StatResult"
        ),
        "journal": "ChangeRecord DiffResult ForgetResult ForgottenPart HistoryResult",
        "searching": (
            "BranchCounts GraphNode GraphResult NodeHit NodeSearchResult RecallResult "
            "SearchResult TagsResult"
        ),
    },
)
