"""The site: what mkdocs needs beside the pages under docs/ (``make docs``).

=====================  ==========================================================================
``public.py``          the public names, and the page of the reference that has each
``reference.py``       pages made of the code: public names, the command line, settings
``hooks.py``           what mkdocs calls: adds these pages and the files that pages link to
``llms.py``            ``llms.txt`` and ``llms-full.txt``
=====================  ==========================================================================
"""
